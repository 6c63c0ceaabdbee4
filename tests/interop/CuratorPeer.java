import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's InterProcessMutex, spoken to in lines. Arguments: hosts, session
 * timeout in ms. ID names a thread of the peer, PATH a lock.
 *
 * <pre>
 * acquire ID PATH          granted ID
 * try ID PATH MS           granted ID | timeout ID
 * release ID PATH          released ID
 * participants PATH        participants COUNT PATH...
 * pass ID PATH JOURNAL     passed ID        acquire, write it down, release
 * cycle ID PATH JOURNAL                     pass again and again
 * stop ID                  stopped ID COUNT
 * </pre>
 *
 * At first it says "ready"; whatever fails is "error ID TEXT". It ends with its
 * input.
 */
public final class CuratorPeer {
    private final CuratorFramework client;
    private final Map<String, InterProcessMutex> locks = new ConcurrentHashMap<>();
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, Boolean> stopping = new ConcurrentHashMap<>();

    private interface Work {
        void run() throws Exception;
    }

    private CuratorPeer(CuratorFramework client) {
        this.client = client;
    }

    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[0], Integer.parseInt(arguments[1]), 10000,
                new ExponentialBackoffRetry(100, 10));
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            say("error - not connected");
            System.exit(1);
        }
        say("ready");
        CuratorPeer peer = new CuratorPeer(client);
        BufferedReader input = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            peer.obey(line.split(" "));
        }
        client.close();
        System.exit(0);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private InterProcessMutex lock(String path) {
        return locks.computeIfAbsent(path, p -> new InterProcessMutex(client, p));
    }

    private void onThread(String id, Work work) {
        threads.computeIfAbsent(id, i -> Executors.newSingleThreadExecutor())
                .submit(() -> {
                    try {
                        work.run();
                    } catch (Throwable failure) {
                        say("error " + id + " " + failure);
                    }
                });
    }

    private void obey(String[] words) {
        String id = words[1];
        switch (words[0]) {
            case "acquire":
                onThread(id, () -> {
                    lock(words[2]).acquire();
                    say("granted " + id);
                });
                break;
            case "try":
                onThread(id, () -> {
                    long ms = Long.parseLong(words[3]);
                    boolean granted = lock(words[2]).acquire(ms, TimeUnit.MILLISECONDS);
                    say((granted ? "granted " : "timeout ") + id);
                });
                break;
            case "release":
                onThread(id, () -> {
                    lock(words[2]).release();
                    say("released " + id);
                });
                break;
            case "participants":
                onThread("participants", () -> sayParticipants(words[1]));
                break;
            case "pass":
                onThread(id, () -> {
                    try (FileOutputStream journal = new FileOutputStream(words[3], true)) {
                        pass(id, words[2], journal);
                    }
                    say("passed " + id);
                });
                break;
            case "cycle":
                onThread(id, () -> cycle(id, words[2], words[3]));
                break;
            case "stop":
                stopping.put(id, true);
                break;
            default:
                say("error " + id + " unknown command");
        }
    }

    private void sayParticipants(String path) throws Exception {
        Collection<String> nodes = lock(path).getParticipantNodes();
        say("participants " + nodes.size() + " " + String.join(" ", nodes));
    }

    /** One write a record: it goes to the end of the file in one piece. */
    private static void record(FileOutputStream journal, String what, String id)
            throws IOException {
        journal.write((what + " " + id + " 0\n").getBytes(StandardCharsets.UTF_8));
    }

    private void pass(String id, String path, FileOutputStream journal) throws Exception {
        InterProcessMutex lock = lock(path);
        lock.acquire();
        record(journal, "E", id);
        record(journal, "L", id);
        lock.release();
    }

    private void cycle(String id, String path, String file) throws Exception {
        int count = 0;
        try (FileOutputStream journal = new FileOutputStream(file, true)) {
            while (!stopping.containsKey(id)) {
                pass(id, path, journal);
                count++;
            }
        }
        say("stopped " + id + " " + count);
    }
}
