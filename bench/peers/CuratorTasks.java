/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/**
 * What bench/tasks does, by Curator: the same options, the same JSON. A task is a thread with
 * lock objects of its own, which is how Curator is fastest. With --pending yes the tasks acquire
 * once: all of them queue, then the queue drains.
 *
 * With "serve" alone it reads options from standard input, a line for each run: so most of them
 * find the code compiled, as a service that has run for long does.
 */
public final class CuratorTasks {
    private static final int ANSWER_SECONDS = 30;
    private static final AtomicLong RUNS = new AtomicLong();

    private final long run = RUNS.incrementAndGet();
    private final Map<String, String> options = new HashMap<>();
    private final List<CuratorFramework> clients = new ArrayList<>();
    private final AtomicLong overlaps = new AtomicLong();
    private final AtomicLong outOfOrder = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();
    private PrintWriter journal; // as in bench/journal.h; null: none
    private volatile boolean measuring;
    private volatile boolean cycled; // in the window, which lasts until something has
    private volatile boolean ending;

    /** What must not be seen at one path; the numbers of its znodes are its tokens. */
    private final class Exclusion {
        private final int together;
        private int holders;
        private boolean alone;
        private long last = -1;

        Exclusion(int together) {
            this.together = together;
        }

        synchronized void enter(boolean wantsAlone, long number) {
            if (alone || holders > (wantsAlone ? 0 : together - 1)) {
                overlaps.incrementAndGet();
            }
            if (number >= 0 && number <= last) {
                outOfOrder.incrementAndGet();
            }
            last = Math.max(last, number);
            holders++;
            alone = wantsAlone;
        }

        synchronized void leave() {
            holders--;
            alone = alone && holders > 0;
        }
    }

    /** A mutex that tells the number of the znode by which it is held. */
    private static final class NumberedMutex extends InterProcessMutex {
        NumberedMutex(CuratorFramework client, String path) {
            super(client, path);
        }

        long number() {
            String path = getLockPath();
            return Long.parseLong(path.substring(path.lastIndexOf('-') + 1));
        }
    }

    private interface Cycle {
        /** Acquires, calls, gives back. */
        void run(Runnable granted) throws Exception;
    }

    /** Nanoseconds. */
    private static final class Samples {
        private long[] samples = new long[1024];
        private int count;

        void add(long sample) {
            if (count == samples.length) {
                samples = Arrays.copyOf(samples, 2 * count);
            }
            samples[count++] = sample;
        }

        void addAll(Samples others) {
            for (int i = 0; i < others.count; i++) {
                add(others.samples[i]);
            }
        }

        String json(String what) {
            Arrays.sort(samples, 0, count);
            return String.format(Locale.ROOT,
                    "\"%s_p50_us\":%.1f,\"%s_p99_us\":%.1f,\"%s_p999_us\":%.1f,", what,
                    percentile(0.5), what, percentile(0.99), what, percentile(0.999));
        }

        private double percentile(double part) {
            return count == 0 ? 0 : samples[(int) Math.min(count - 1, part * count)] / 1000.0;
        }
    }

    private final class Task extends Thread {
        private final Cycle cycle;
        final CountDownLatch first = new CountDownLatch(1); // cycle: directories may be missing
        final Samples acquires = new Samples();
        final Samples cycles = new Samples();

        Task(Cycle cycle) {
            this.cycle = cycle;
        }

        @Override
        public void run() {
            try {
                while (!ending) {
                    once();
                }
            } catch (Exception failure) {
                failures.incrementAndGet();
                failure.printStackTrace();
            }
        }

        private void once() throws Exception {
            long asked = System.nanoTime();
            cycle.run(() -> {
                if (measuring) {
                    acquires.add(System.nanoTime() - asked);
                }
            });
            first.countDown();
            if (measuring) {
                cycles.add(System.nanoTime() - asked);
                cycled = true;
            }
        }
    }

    private CuratorTasks(String[] arguments) {
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            options.put(arguments[i].substring(2), arguments[i + 1]);
        }
    }

    private int number(String option, int otherwise) {
        return Integer.parseInt(options.getOrDefault(option, Integer.toString(otherwise)));
    }

    private void connect() throws InterruptedException {
        for (int s = 0; s < number("sessions", 1); s++) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(options.get("hosts"),
                    60000, 15000, new ExponentialBackoffRetry(100, 10));
            client.start();
            clients.add(client);
        }
        for (CuratorFramework client : clients) {
            if (!client.blockUntilConnected(ANSWER_SECONDS, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not connected");
            }
        }
    }

    /* -------------------------------------------------------------------- cycles */

    private Cycle mutex(CuratorFramework client, String path, Exclusion seen, int holder) {
        NumberedMutex mutex = new NumberedMutex(client, path);
        int hold = number("hold", 0);
        return granted -> {
            mutex.acquire();
            long since = System.nanoTime();
            granted.run();
            long token = mutex.number();
            seen.enter(true, token);
            if (hold > 0) {
                Thread.sleep(hold);
            }
            seen.leave();
            long until = System.nanoTime();
            mutex.release();
            addHold(holder, token + 1, since, until);
        };
    }

    /** System.nanoTime() is CLOCK_MONOTONIC here. */
    private void addHold(int holder, long token, long since, long until) {
        if (journal != null) {
            journal.println(holder + " " + token + " " + since + " " + until);
        }
    }

    private Cycle semaphore(CuratorFramework client, String path, Exclusion seen) {
        InterProcessSemaphoreV2 semaphore =
                new InterProcessSemaphoreV2(client, path, number("leases", 3));
        return granted -> {
            Lease lease = semaphore.acquire();
            granted.run();
            seen.enter(false, -1);
            seen.leave();
            lease.close();
        };
    }

    private Cycle readWrite(CuratorFramework client, String path, Exclusion seen, int seed) {
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
        Random random = new Random(seed);
        int readers = number("readers", 90);
        return granted -> {
            boolean reads = random.nextInt(100) < readers;
            InterProcessMutex half = reads ? both.readLock() : both.writeLock();
            half.acquire();
            granted.run();
            seen.enter(!reads, -1);
            seen.leave();
            half.release();
        };
    }

    private List<Task> tasks() {
        int paths = number("paths", 1);
        int sessions = number("sessions", 1);
        String recipe = options.getOrDefault("recipe", "mutex");
        int together = recipe.equals("semaphore") ? number("leases", 3) : Integer.MAX_VALUE;
        List<Exclusion> seen = new ArrayList<>();
        for (int p = 0; p < paths; p++) {
            seen.add(new Exclusion(together));
        }
        List<Task> tasks = new ArrayList<>();
        for (int i = 0; i < number("tasks", 16); i++) {
            int place = i % paths;
            CuratorFramework client = clients.get((place + i / paths) % sessions);
            String path = base() + "/" + place;
            tasks.add(new Task(recipe.equals("semaphore") ? semaphore(client, path, seen.get(place))
                    : recipe.equals("rwlock") ? readWrite(client, path, seen.get(place), i)
                    : mutex(client, path, seen.get(place), i)));
        }
        return tasks;
    }

    private String base() {
        return options.getOrDefault("path",
                "/curator-tasks/" + ProcessHandle.current().pid() + "-" + run);
    }

    /* ----------------------------------------------------------------------- run */

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void awaitFirstCycles(List<Task> tasks) throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(ANSWER_SECONDS);
        for (Task task : tasks) {
            task.first.await(until - System.nanoTime(), TimeUnit.NANOSECONDS);
        }
    }

    private void measure() throws InterruptedException {
        List<Task> tasks = tasks();
        tasks.forEach(Thread::start);
        Thread.sleep(number("warm", 1000));
        awaitFirstCycles(tasks);
        say("{\"window\":\"begins\"}");
        long began = System.nanoTime();
        measuring = true;
        do {
            Thread.sleep(number("window", 2000));
        } while (!cycled && failures.get() == 0);
        measuring = false;
        long length = System.nanoTime() - began;
        say("{\"window\":\"ends\"}");
        ending = true;
        Samples acquires = new Samples();
        Samples cycles = new Samples();
        for (Task task : tasks) {
            task.join();
            acquires.addAll(task.acquires);
            cycles.addAll(task.cycles);
        }
        if (journal != null) {
            journal.close();
        }
        say(String.format(Locale.ROOT,
                "{\"program\":\"curator\",\"seconds\":%.3f,\"cycles\":%d,\"cycles_per_s\":%.1f,"
                + "%s%s%s}", length / 1e9, cycles.count, cycles.count * 1e9 / length,
                acquires.json("acquire"), cycles.json("cycle"), checks(cycles.count > 0)));
    }

    private String checks(boolean any) {
        boolean right = any && overlaps.get() + outOfOrder.get() + failures.get() == 0;
        return String.format(Locale.ROOT,
                "\"overlaps\":%d,\"out_of_order\":%d,\"failures\":%d,\"right\":%b",
                overlaps.get(), outOfOrder.get(), failures.get(), right);
    }

    /* ------------------------------------------------------------------- pending */

    private void warmUp() throws InterruptedException {
        List<Task> warming = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            warming.add(new Task(mutex(clients.get(0), base() + "/warming-" + i, new Exclusion(1),
                    i)));
        }
        warming.forEach(Thread::start);
        Thread.sleep(number("warm", 1000));
        ending = true;
        for (Task task : warming) {
            task.join();
        }
    }

    /** Without what is garbage. */
    private static long residentKb() throws Exception {
        System.gc();
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        return 0;
    }

    private void awaitChildren(String path, int count) throws Exception {
        for (;;) {
            Stat stat = clients.get(0).checkExists().forPath(path);
            if (stat != null && stat.getNumChildren() >= count) {
                return;
            }
            Thread.sleep(10);
        }
    }

    /** Everybody queues behind one who holds, then the queue drains. */
    private void pending() throws Exception {
        warmUp();
        int count = number("tasks", 16);
        String path = base() + "/pending";
        Exclusion seen = new Exclusion(1);
        InterProcessMutex first = new InterProcessMutex(clients.get(0), path);
        first.acquire();
        long before = residentKb();
        CountDownLatch left = new CountDownLatch(count);
        say("{\"window\":\"begins\"}");
        long began = System.nanoTime();
        for (int i = 0; i < count; i++) {
            Cycle cycle = mutex(clients.get(i % clients.size()), path, seen, i);
            new Thread(() -> {
                try {
                    cycle.run(() -> { });
                } catch (Exception failure) {
                    failures.incrementAndGet();
                    failure.printStackTrace();
                }
                left.countDown();
            }).start();
        }
        awaitChildren(path, count + 1);
        long queued = System.nanoTime();
        long bytes = (residentKb() - before) * 1024 / count;
        long released = System.nanoTime();
        first.release();
        left.await();
        long drained = System.nanoTime();
        say("{\"window\":\"ends\"}");
        say(String.format(Locale.ROOT,
                "{\"program\":\"curator\",\"cycles\":%d,\"queue_ms\":%.1f,\"drain_ms\":%.1f,"
                + "\"drained_per_s\":%.1f,\"bytes_per_pending\":%d,%s}", count,
                (queued - began) / 1e6, (drained - released) / 1e6,
                count * 1e9 / (drained - released), bytes, checks(true)));
    }

    /** Whether all was right. */
    private boolean perform() throws Exception {
        try {
            connect();
            if (options.containsKey("journal")) {
                journal = new PrintWriter(options.get("journal"));
            }
            if (options.getOrDefault("pending", "no").equals("yes")) {
                pending();
            } else {
                measure();
            }
        } finally {
            clients.forEach(CuratorFramework::close);
        }
        return overlaps.get() + outOfOrder.get() + failures.get() == 0;
    }

    private static void serve() throws Exception {
        BufferedReader input = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            new CuratorTasks(line.split(" ")).perform();
        }
    }

    public static void main(String[] arguments) throws Exception {
        boolean right = true;
        if (arguments.length == 1 && arguments[0].equals("serve")) {
            serve();
        } else {
            right = new CuratorTasks(arguments).perform();
        }
        System.exit(right ? 0 : 1);
    }
}
