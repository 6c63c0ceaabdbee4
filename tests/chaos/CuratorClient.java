/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A Curator client of the chaos program: uvzk_client.c's lines, as far as it needs them.
 * Arguments: hosts, session timeout in ms. Its moments are ns of CLOCK_MONOTONIC.
 *
 * A hold lasts from when acquire has returned until release is called, or until the connection
 * was told not to be what it should be: whoever goes by Curator's advice stops there.
 */
public final class CuratorClient {
    private final CuratorFramework client;
    private final Map<String, Lock> locks = new ConcurrentHashMap<>();
    private final Map<String, SharedCount> counts = new ConcurrentHashMap<>();
    private final Object gate = new Object();
    private boolean resting;
    private int busy;
    private volatile long disturbed = System.nanoTime();
    private volatile long session;

    /** What is let go once it has been acquired; null: not in time. */
    private interface Lock {
        Release acquire(long ms, int leases) throws Exception;
    }

    private interface Release {
        void run() throws Exception;
    }

    private CuratorClient(CuratorFramework client) {
        this.client = client;
        client.getConnectionStateListenable().addListener((same, state) -> {
            if (!state.isConnected()) {
                disturbed = System.nanoTime();
            }
            noteSession();
        });
    }

    private void noteSession() {
        try {
            session = client.getZookeeperClient().getZooKeeper().getSessionId();
            say("session 0 " + Long.toHexString(session) + " 0 "
                    + (client.getZookeeperClient().isConnected() ? 1 : 0) + " 0");
        } catch (Exception none) {
            session = 0;
        }
    }

    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[0], Integer.parseInt(arguments[1]), 5000,
                new ExponentialBackoffRetry(100, 5, 1000));
        CuratorClient peer = new CuratorClient(client);
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            say("error - not connected");
            System.exit(1);
        }
        peer.noteSession();
        say("ready");
        BufferedReader input = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                peer.obey(line.split(" "));
            } catch (Exception failure) {
                say("error " + line + " " + failure);
            }
        }
        System.exit(0);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /* ------------------------------------------------------------------ commands */

    private void obey(String[] words) throws Exception {
        switch (words[0]) {
            case "lock":
                make(words[1], words[2], words[3],
                        words.length > 4 ? Integer.parseInt(words[4]) : 1);
                say("made " + words[1]);
                break;
            case "multi":
                makeMulti(words);
                say("made " + words[1]);
                break;
            case "work":
                Runnable work = counts.containsKey(words[2])
                        ? new Setter(words) : new Worker(words);
                Thread worker = new Thread(work, words[1]);
                worker.setDaemon(true);
                worker.start();
                break;
            case "rest":
                rest(true);
                break;
            case "go":
                rest(false);
                break;
            default:
                say("error unknown " + words[0]);
        }
    }

    private void rest(boolean rests) {
        synchronized (gate) {
            resting = rests;
            gate.notifyAll();
            if (resting && busy == 0) {
                say("resting");
            }
        }
    }

    private static Lock plain(InterProcessLock lock) {
        return (ms, leases) -> lock.acquire(ms, TimeUnit.MILLISECONDS) ? lock::release : null;
    }

    private static Lock semaphore(InterProcessSemaphoreV2 semaphore) {
        return (ms, leases) -> {
            Collection<Lease> taken = semaphore.acquire(leases, ms, TimeUnit.MILLISECONDS);
            return taken == null ? null : () -> semaphore.returnAll(taken);
        };
    }

    /** Each reign has a latch of its own, because a latch leads until it is closed. */
    private Lock latch(String path) {
        return (ms, leases) -> {
            LeaderLatch latch = new LeaderLatch(client, path);
            latch.start();
            if (latch.await(ms, TimeUnit.MILLISECONDS)) {
                return latch::close;
            }
            latch.close();
            return null;
        };
    }

    private static final class Reign extends LeaderSelectorListenerAdapter {
        final CountDownLatch begun = new CountDownLatch(1);
        final CountDownLatch over = new CountDownLatch(1);

        @Override
        public void takeLeadership(CuratorFramework same) throws InterruptedException {
            begun.countDown();
            over.await();
        }
    }

    private Lock selector(String path) {
        return (ms, leases) -> {
            Reign reign = new Reign();
            LeaderSelector selector = new LeaderSelector(client, path, reign);
            selector.start();
            if (!reign.begun.await(ms, TimeUnit.MILLISECONDS)) {
                selector.close();
                return null;
            }
            return () -> {
                reign.over.countDown();
                selector.close();
            };
        };
    }

    /** A thread of ours is one contender: each has its lock object's own entry. */
    private void make(String name, String kind, String path, int number) throws Exception {
        switch (kind) {
            case "mutex":
            case "cohort":
            case "driver":
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                members.put(name, mutex);
                locks.put(name, plain(mutex));
                break;
            case "rwlock":
                InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
                locks.put(name + ".read", plain(both.readLock()));
                locks.put(name + ".write", plain(both.writeLock()));
                break;
            case "semaphore":
                locks.put(name, semaphore(new InterProcessSemaphoreV2(client, path, number)));
                break;
            case "latch":
                locks.put(name, latch(path));
                break;
            case "selector":
                locks.put(name, selector(path));
                break;
            case "count":
                SharedCount count = new SharedCount(client, path, 0);
                count.start();
                counts.put(name, count);
                break;
            case "semaphore_mutex":
                locks.put(name, plain(new InterProcessSemaphoreMutex(client, path)));
                break;
            default:
                throw new IllegalArgumentException("kind " + kind);
        }
    }

    private final Map<String, InterProcessLock> members = new ConcurrentHashMap<>();

    private void makeMulti(String[] words) {
        List<InterProcessLock> all = new ArrayList<>();
        for (int i = 3; i < words.length; i++) {
            all.add(members.get(words[i]));
        }
        locks.put(words[1], plain(new InterProcessMultiLock(all)));
    }

    /* ------------------------------------------------------------------- workers */

    private final class Worker implements Runnable {
        private final String id;
        private final String name;
        private final long holdMs;
        private final int pauseMs;
        private final long patienceMs;
        private final int leases;
        private final Random random = new Random();

        Worker(String[] words) {
            id = words[1];
            name = words[2];
            holdMs = Long.parseLong(words[3]);
            pauseMs = Integer.parseInt(words[4]);
            patienceMs = Long.parseLong(words[5]);
            leases = Math.max(1, Integer.parseInt(words[6]));
        }

        @Override
        public void run() {
            try {
                while (true) {
                    Thread.sleep(1 + random.nextInt(pauseMs + 1));
                    begin();
                    try {
                        cycle();
                    } catch (Exception failure) {
                        say("refused " + id + " " + name + " "
                                + failure.getClass().getSimpleName() + " " + System.nanoTime());
                        Thread.sleep(100);
                    } finally {
                        end();
                    }
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }

        private void cycle() throws Exception {
            Release release = locks.get(name).acquire(patienceMs, leases);
            long from = System.nanoTime();
            if (release == null) {
                say("refused " + id + " " + name + " timeout " + from);
                return;
            }
            boolean connected = client.getZookeeperClient().isConnected();
            long in = session;
            Thread.sleep(holdMs);
            long until = connected ? System.nanoTime() : from;
            long late = disturbed;
            if (late >= from && late < until) {
                until = late;
            }
            try {
                release.run();
            } finally {
                say("held " + id + " " + name + " " + from + " " + until + " 0 0 "
                        + Long.toHexString(in) + " " + leases + " released");
            }
        }
    }

    /** Sets a count to one more than it knows, if it still is that. Of a set that failed it is
     * not known whether it was done: Curator tries again by itself. */
    private final class Setter implements Runnable {
        private final String id;
        private final String name;
        private final int pauseMs;
        private final Random random = new Random();

        Setter(String[] words) {
            id = words[1];
            name = words[2];
            pauseMs = Integer.parseInt(words[4]);
        }

        @Override
        public void run() {
            SharedCount count = counts.get(name);
            try {
                while (true) {
                    Thread.sleep(1 + random.nextInt(2 * pauseMs + 1));
                    begin();
                    int next = count.getCount() + 1;
                    long sent = System.nanoTime();
                    String status = "0";
                    try {
                        VersionedValue<Integer> known = count.getVersionedValue();
                        next = known.getValue() + 1;
                        status = count.trySetCount(known, next) ? "0" : "another";
                    } catch (Exception failure) {
                        status = failure.getClass().getSimpleName();
                    } finally {
                        say("set " + id + " " + name + " " + status + " " + next + " " + sent
                                + " " + System.nanoTime());
                        end();
                    }
                }
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void begin() throws InterruptedException {
        synchronized (gate) {
            while (resting) {
                gate.wait();
            }
            busy++;
        }
    }

    private void end() {
        synchronized (gate) {
            busy--;
            if (resting && busy == 0) {
                say("resting");
            }
        }
    }
}
