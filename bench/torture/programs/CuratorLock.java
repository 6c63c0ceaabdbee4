import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * CuratorLock SERVERS NAME TIMEOUT_MS: a lock program (body.py says what that is) with Curator's InterProcessMutex.
 *
 * https://curator.apache.org/docs/recipes-shared-reentrant-lock, "Error Handling": "It is strongly recommended that you add a
 * ConnectionStateListener and watch for SUSPENDED and LOST state changes." Here both end the hold. The retry policy is that of
 * https://curator.apache.org/docs/getting-started; the time-out of the session is given (Curator's own: 60 s); all else is as it
 * comes. There is no token.
 */
public final class CuratorLock {
    private static final long TICK_MS = 20;
    private static final long NS_IN_MS = 1_000_000;

    private final BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private final InterProcessMutex mutex;
    private volatile boolean held;
    private volatile boolean connected = true;

    private CuratorLock(CuratorFramework client, String path) {
        mutex = new InterProcessMutex(client, path);
        client.getConnectionStateListenable().addListener((ignored, state) -> onState(state));
    }

    private static synchronized void sayAt(long at, String word, String more) {
        System.out.println(word + " " + at + (more.isEmpty() ? "" : " " + more));
        System.out.flush();
    }

    private static void say(String word, String more) {
        sayAt(System.nanoTime(), word, more); // CLOCK_MONOTONIC
    }

    private void onState(ConnectionState state) {
        connected = state.isConnected();
        if (!connected && held) {
            held = false;
            say("lost", state.name());
        }
    }

    private boolean stillHolds() {
        long at = System.nanoTime();
        if (!held) {
            return false;
        }
        sayAt(at, "holds", "");
        return true;
    }

    private boolean works(long ms, boolean blocks) throws InterruptedException {
        long end = System.nanoTime() + ms * NS_IN_MS;
        while (System.nanoTime() < end) {
            if (!blocks) {
                if (!stillHolds()) {
                    return false;
                }
                Thread.sleep(TICK_MS);
            }
        }
        return stillHolds();
    }

    private void criticalSection() throws Exception {
        held = connected;
        say("locked", "-");
        say("read", "-");
        String line = input.readLine();
        if (line == null) {
            return;
        }
        String[] words = line.split(" ");
        if (works(Long.parseLong(words[2]), words[3].equals("block"))) {
            say("write", words[1] + " -");
            input.readLine();
        } else {
            say("gave_up", "");
        }
        say("unlocking", "");
    }

    private void serve() throws Exception {
        say("ready", "");
        while (input.readLine() != null) {
            try {
                mutex.acquire();
                try {
                    criticalSection();
                } finally {
                    held = false;
                    mutex.release();
                }
                say("unlocked", "");
            } catch (Exception why) {
                say("failed", why.toString().replace('\n', ' '));
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(arguments[0])
                .sessionTimeoutMs(Integer.parseInt(arguments[2]))
                .retryPolicy(new ExponentialBackoffRetry(1000, 3))
                .build()) {
            client.start();
            client.blockUntilConnected();
            new CuratorLock(client, "/" + arguments[1]).serve();
        }
        System.exit(0);
    }
}
