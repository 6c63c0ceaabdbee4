/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * CuratorLock SERVERS NAME TIMEOUT_MS mutex|reentrant|semaphore|leader: a lock program (body.py says what that is) with Curator's
 * InterProcessMutex; with the same, acquired and released twice by its thread; with an InterProcessSemaphoreV2 of two leases; or
 * with its LeaderLatch: who leads holds.
 *
 * https://curator.apache.org/docs/recipes-shared-reentrant-lock, "Error Handling": "It is strongly recommended that you add a
 * ConnectionStateListener and watch for SUSPENDED and LOST state changes." Here both end the hold. The retry policy is that of
 * https://curator.apache.org/docs/getting-started; the time-out of the session is given (Curator's own: 60 s); all else is as it
 * comes. There is no token.
 *
 * https://curator.apache.org/docs/recipes-leader-latch: await(), then hasLeadership() tells, and notLeader() of a listener. "If
 * SUSPENDED or LOST is reported, the LeaderLatch that is the leader will report that it is no longer the leader". A latch stands
 * once: it is closed to resign, and the next one is another.
 */
public final class CuratorLock {
    private static final long TICK_MS = 20;
    private static final long NS_IN_MS = 1_000_000;

    private final BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private final Lock lock;

    private CuratorLock(Lock lock) {
        this.lock = lock;
    }

    private interface Lock {
        void acquire() throws Exception;

        boolean holds();

        void release() throws Exception;
    }

    /** Whose holds end with the connection, as far as the program knows. */
    private abstract static class Connected implements Lock {
        private volatile boolean held;
        private volatile boolean connected = true;

        Connected(CuratorFramework client) {
            client.getConnectionStateListenable().addListener((ignored, state) -> onState(state));
        }

        private void onState(ConnectionState state) {
            connected = state.isConnected();
            if (!connected && held) {
                held = false;
                say("lost", state.name());
            }
        }

        abstract void take() throws Exception;

        abstract void giveBack() throws Exception;

        @Override
        public void acquire() throws Exception {
            take();
            held = connected;
        }

        @Override
        public boolean holds() {
            return held;
        }

        @Override
        public void release() throws Exception {
            held = false;
            giveBack();
        }
    }

    private static final class Mutex extends Connected {
        private final InterProcessMutex mutex;
        private final int times;

        Mutex(CuratorFramework client, String path, int times) {
            super(client);
            mutex = new InterProcessMutex(client, path);
            this.times = times;
        }

        @Override
        void take() throws Exception {
            for (int i = 0; i < times; i++) {
                mutex.acquire();
            }
        }

        @Override
        void giveBack() throws Exception {
            for (int i = 0; i < times; i++) {
                mutex.release();
            }
        }
    }

    private static final class Semaphore extends Connected {
        private static final int LEASES = 2;
        private final InterProcessSemaphoreV2 semaphore;
        private Lease lease;

        Semaphore(CuratorFramework client, String path) {
            super(client);
            semaphore = new InterProcessSemaphoreV2(client, path, LEASES);
        }

        @Override
        void take() throws Exception {
            lease = semaphore.acquire();
        }

        @Override
        void giveBack() {
            semaphore.returnLease(lease);
        }
    }

    private static final class Leader implements Lock, LeaderLatchListener {
        private final CuratorFramework client;
        private final String path;
        private LeaderLatch latch;
        private volatile boolean resigning;

        Leader(CuratorFramework client, String path) {
            this.client = client;
            this.path = path;
        }

        @Override
        public void acquire() throws Exception {
            resigning = false;
            latch = new LeaderLatch(client, path);
            latch.addListener(this);
            latch.start();
            latch.await();
        }

        @Override
        public boolean holds() {
            return latch.hasLeadership();
        }

        @Override
        public void release() throws Exception {
            resigning = true;
            latch.close();
        }

        @Override
        public void isLeader() {
            // acquire() waits for it.
        }

        @Override
        public void notLeader() {
            if (!resigning) {
                say("lost", "notLeader");
            }
        }
    }

    private static synchronized void sayAt(long at, String word, String more) {
        System.out.println(word + " " + at + (more.isEmpty() ? "" : " " + more));
        System.out.flush();
    }

    private static void say(String word, String more) {
        sayAt(System.nanoTime(), word, more); // CLOCK_MONOTONIC
    }

    private boolean stillHolds() {
        long at = System.nanoTime();
        if (!lock.holds()) {
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
                lock.acquire();
                try {
                    criticalSection();
                } finally {
                    lock.release();
                }
                say("unlocked", "");
            } catch (Exception why) {
                say("failed", why.toString().replace('\n', ' '));
            }
        }
    }

    private static Lock lock(CuratorFramework client, String path, String kind) {
        switch (kind) {
            case "leader":
                return new Leader(client, path);
            case "semaphore":
                return new Semaphore(client, path);
            default:
                return new Mutex(client, path, kind.equals("reentrant") ? 2 : 1);
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
            String path = "/" + arguments[1];
            new CuratorLock(lock(client, path, arguments[3])).serve();
        }
        System.exit(0);
    }
}
