/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's barriers, spoken to in lines. Arguments: hosts, session timeout in
 * ms. ID is a thread of this peer, and a member of a double barrier; each enter
 * makes a new one.
 *
 * <pre>
 * set PATH                  set PATH
 * remove PATH               removed PATH
 * wait ID PATH MS           passed ID | timeout ID
 * enter ID PATH QUANTITY MS entered ID | timeout ID
 * leave ID MS               left ID | timeout ID
 * round ID PATH QUANTITY    entered ID, then left ID
 *     enters and leaves at once, without a time-out
 * </pre>
 *
 * At first it says "ready"; whatever fails is "error ID-or-PATH TEXT". It ends
 * with its input.
 */
public final class BarrierPeer {
    private final CuratorFramework client;
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, DistributedDoubleBarrier> members = new ConcurrentHashMap<>();

    private interface Work {
        void run() throws Exception;
    }

    private BarrierPeer(CuratorFramework client) {
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
        BarrierPeer peer = new BarrierPeer(client);
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

    private void onThread(String id, Work work) {
        threads.computeIfAbsent(id, i -> Executors.newSingleThreadExecutor()).submit(() -> {
            try {
                work.run();
            } catch (Throwable failure) {
                say("error " + id + " " + failure);
            }
        });
    }

    private void obey(String[] words) {
        String id = words[1];
        onThread(id, () -> {
            switch (words[0]) {
                case "set":
                    new DistributedBarrier(client, id).setBarrier();
                    say("set " + id);
                    break;
                case "remove":
                    new DistributedBarrier(client, id).removeBarrier();
                    say("removed " + id);
                    break;
                case "wait":
                    boolean passed = new DistributedBarrier(client, words[2])
                            .waitOnBarrier(Long.parseLong(words[3]), TimeUnit.MILLISECONDS);
                    say((passed ? "passed " : "timeout ") + id);
                    break;
                case "enter":
                    boolean entered = member(id, words[2], words[3])
                            .enter(Long.parseLong(words[4]), TimeUnit.MILLISECONDS);
                    say((entered ? "entered " : "timeout ") + id);
                    break;
                case "leave":
                    boolean left = members.get(id)
                            .leave(Long.parseLong(words[2]), TimeUnit.MILLISECONDS);
                    say((left ? "left " : "timeout ") + id);
                    break;
                case "round":
                    DistributedDoubleBarrier member = member(id, words[2], words[3]);
                    member.enter();
                    say("entered " + id);
                    member.leave();
                    say("left " + id);
                    break;
                default:
                    throw new IllegalArgumentException("unknown command " + words[0]);
            }
        });
    }

    private DistributedDoubleBarrier member(String id, String path, String quantity) {
        DistributedDoubleBarrier member =
                new DistributedDoubleBarrier(client, path, Integer.parseInt(quantity));
        members.put(id, member);
        return member;
    }
}
