/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's lock recipes, spoken to in lines. Arguments: hosts, session timeout
 * in ms. NAME is a lock or a count of this peer, ID one of its threads; LEASES
 * is 1 if it is missing, and always 1 for what is no semaphore.
 *
 * <pre>
 * mutex NAME PATH                     made NAME
 * semaphore NAME PATH MAXIMUM         made NAME
 * counted NAME PATH COUNT             made NAME     a semaphore with a SharedCount
 * semaphore_mutex NAME PATH           made NAME
 * rw NAME PATH                        made NAME     two locks: NAME.read, NAME.write
 * multi NAME MEMBER...                made NAME
 *
 * acquire ID NAME [LEASES]            granted ID
 * try ID NAME MS [LEASES]             granted ID | timeout ID
 * release ID NAME [LEASES]            released ID
 * leases ID NAME                      leases ID COUNT NODE=DATA...   of this thread
 * participants NAME                   participants COUNT NODE...
 * cycle ID NAME JOURNAL TIMES PERMITS ROUND_TRIPS
 *                                     cycled ID
 *     acquire, write down that it takes so many permits, ask the server for
 *     something, write down that it leaves, release. From a semaphore it
 *     acquires as many leases.
 *
 * revocable NAME                      made NAME, and when somebody asks: revoked NAME
 * revoke PATH                         asked PATH
 *
 * count NAME PATH SEED                value NAME VALUE VERSION
 * get NAME                            value NAME VALUE VERSION
 * set NAME VALUE                      set NAME
 * try_set NAME VALUE                  try_set NAME true|false
 *     over the value that count or get told last
 * increment NAME TIMES                increment NAME
 *     each time over the value that is known then, again until it succeeds.
 * Whenever a count changes:
 *                                     changed NAME VALUE
 *
 * latch NAME PATH ID                  made NAME     a LeaderLatch
 * selector NAME PATH ID               made NAME     a LeaderSelector that requeues itself
 * resign NAME                         resigned NAME     a selector's leader, if it is one
 * elected NAME                        elected NAME LEADER ID...     all participants
 * leave NAME [silent|notify]          left NAME     silent is for a latch
 * Whenever a latch or a selector begins to lead, and does not lead any more:
 *                                     leads NAME | deposed NAME
 * </pre>
 *
 * At first it says "ready"; whatever fails is "error ID-or-NAME TEXT". It ends
 * with its input.
 */
public final class CuratorPeer {
    private final CuratorFramework client;
    private final Map<String, Lock> locks = new ConcurrentHashMap<>();
    private final Map<String, Count> counts = new ConcurrentHashMap<>();
    private final Map<String, Election> elections = new ConcurrentHashMap<>();
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

    private interface Work {
        void run() throws Exception;
    }

    private interface Lock {
        boolean acquire(int leases, long ms) throws Exception; // ms < 0: for ever

        void release(int leases) throws Exception;

        Collection<String> participants() throws Exception;

        default Collection<Lease> leases() {
            throw new UnsupportedOperationException("no semaphore");
        }
    }

    /** Any InterProcessLock. */
    private static final class PlainLock implements Lock {
        private final InterProcessLock lock;

        PlainLock(InterProcessLock lock) {
            this.lock = lock;
        }

        @Override
        public boolean acquire(int leases, long ms) throws Exception {
            if (ms >= 0) {
                return lock.acquire(ms, TimeUnit.MILLISECONDS);
            }
            lock.acquire();
            return true;
        }

        @Override
        public void release(int leases) throws Exception {
            lock.release();
        }

        @Override
        public Collection<String> participants() throws Exception {
            return ((InterProcessMutex) lock).getParticipantNodes();
        }
    }

    /** The leases of every thread, the first one taken being the first returned. */
    private static final class Semaphore implements Lock {
        private final InterProcessSemaphoreV2 semaphore;
        private final ThreadLocal<Deque<Lease>> held = ThreadLocal.withInitial(ArrayDeque::new);

        Semaphore(InterProcessSemaphoreV2 semaphore) {
            this.semaphore = semaphore;
        }

        @Override
        public boolean acquire(int leases, long ms) throws Exception {
            Collection<Lease> taken = ms < 0 ? semaphore.acquire(leases)
                    : semaphore.acquire(leases, ms, TimeUnit.MILLISECONDS);
            return taken != null && held.get().addAll(taken);
        }

        @Override
        public void release(int leases) throws Exception {
            for (int i = 0; i < leases; i++) {
                held.get().removeFirst().close();
            }
        }

        @Override
        public Collection<String> participants() throws Exception {
            return semaphore.getParticipantNodes();
        }

        @Override
        public Collection<Lease> leases() {
            return held.get();
        }
    }

    private static final class Count implements SharedCountListener {
        final String name;
        final SharedCount count;
        VersionedValue<Integer> told;

        Count(String name, SharedCount count) {
            this.name = name;
            this.count = count;
        }

        @Override
        public void countHasChanged(SharedCountReader reader, int value) {
            say("changed " + name + " " + value);
        }

        @Override
        public void stateChanged(CuratorFramework client, ConnectionState state) {
            // The locks of the same client tell of it.
        }

        void increment(int times) throws Exception {
            for (int done = 0; done < times; ) {
                VersionedValue<Integer> now = count.getVersionedValue();
                if (count.trySetCount(now, now.getValue() + 1)) {
                    done++;
                }
            }
        }

        void tell() {
            told = count.getVersionedValue();
            say("value " + name + " " + told.getValue() + " " + told.getVersion());
        }
    }

    /** A latch or a selector. */
    private interface Election {
        void resign();

        Participant leader() throws Exception;

        Collection<Participant> participants() throws Exception;

        void leave(boolean silently) throws Exception;
    }

    private static final class Latch implements Election, LeaderLatchListener {
        private final String name;
        private final LeaderLatch latch;

        Latch(CuratorFramework client, String name, String path, String id) throws Exception {
            this.name = name;
            latch = new LeaderLatch(client, path, id);
            latch.addListener(this);
            latch.start();
        }

        @Override
        public void isLeader() {
            say("leads " + name);
        }

        @Override
        public void notLeader() {
            say("deposed " + name);
        }

        @Override
        public void resign() {
            throw new UnsupportedOperationException("a latch leads until it is closed");
        }

        @Override
        public Participant leader() throws Exception {
            return latch.getLeader();
        }

        @Override
        public Collection<Participant> participants() throws Exception {
            return latch.getParticipants();
        }

        @Override
        public void leave(boolean silently) throws Exception {
            latch.close(silently ? LeaderLatch.CloseMode.SILENT
                    : LeaderLatch.CloseMode.NOTIFY_LEADER);
        }
    }

    private static final class Selector extends LeaderSelectorListenerAdapter
            implements Election {
        private final String name;
        private final java.util.concurrent.Semaphore over = new java.util.concurrent.Semaphore(0);
        private final LeaderSelector selector;

        Selector(CuratorFramework client, String name, String path, String id) {
            this.name = name;
            selector = new LeaderSelector(client, path, this);
            selector.setId(id);
            selector.autoRequeue();
            selector.start();
        }

        @Override
        public void takeLeadership(CuratorFramework client) throws InterruptedException {
            over.drainPermits();
            say("leads " + name);
            try {
                over.acquire();
            } finally {
                say("deposed " + name);
            }
        }

        @Override
        public void resign() {
            over.release();
        }

        @Override
        public Participant leader() throws Exception {
            return selector.getLeader();
        }

        @Override
        public Collection<Participant> participants() throws Exception {
            return selector.getParticipants();
        }

        @Override
        public void leave(boolean silently) {
            selector.close();
        }
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

    private void onThread(String id, Work work) {
        threads.computeIfAbsent(id, i -> Executors.newSingleThreadExecutor())
                .submit(() -> perform(id, work));
    }

    private static void perform(String id, Work work) {
        try {
            work.run();
        } catch (Throwable failure) {
            say("error " + id + " " + failure);
        }
    }

    private void obey(String[] words) {
        perform(words[1], () -> {
            if (!makes(words) && !acquires(words) && !asks(words) && !counts(words)
                    && !elects(words)) {
                throw new IllegalArgumentException("unknown command " + words[0]);
            }
        });
    }

    private Lock lock(String name) {
        Lock lock = locks.get(name);
        if (lock == null) {
            throw new IllegalArgumentException("no lock " + name);
        }
        return lock;
    }

    private static int number(String[] words, int index) {
        return words.length > index ? Integer.parseInt(words[index]) : 1;
    }

    /* ------------------------------------------------------------- the locks */

    private boolean makes(String[] words) {
        String name = words[1];
        switch (words[0]) {
            case "mutex":
                locks.put(name, new PlainLock(new InterProcessMutex(client, words[2])));
                break;
            case "semaphore":
                locks.put(name, new Semaphore(new InterProcessSemaphoreV2(
                        client, words[2], number(words, 3))));
                break;
            case "counted":
                locks.put(name, new Semaphore(new InterProcessSemaphoreV2(
                        client, words[2], counts.get(words[3]).count)));
                break;
            case "semaphore_mutex":
                locks.put(name, new PlainLock(
                        new InterProcessSemaphoreMutex(client, words[2])));
                break;
            case "rw":
                InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, words[2]);
                locks.put(name + ".read", new PlainLock(both.readLock()));
                locks.put(name + ".write", new PlainLock(both.writeLock()));
                break;
            case "multi":
                locks.put(name, new PlainLock(multi(
                        Arrays.asList(words).subList(2, words.length))));
                break;
            case "revocable":
                ((InterProcessMutex) ((PlainLock) lock(name)).lock)
                        .makeRevocable(revoked -> say("revoked " + name));
                break;
            default:
                return false;
        }
        say("made " + name);
        return true;
    }

    private InterProcessMultiLock multi(List<String> members) {
        List<InterProcessLock> all = new ArrayList<>();
        for (String member : members) {
            all.add(((PlainLock) lock(member)).lock);
        }
        return new InterProcessMultiLock(all);
    }

    private boolean acquires(String[] words) {
        String id = words[1];
        switch (words[0]) {
            case "acquire":
                onThread(id, () -> {
                    lock(words[2]).acquire(number(words, 3), -1);
                    say("granted " + id);
                });
                return true;
            case "try":
                onThread(id, () -> {
                    boolean granted = lock(words[2]).acquire(
                            number(words, 4), Long.parseLong(words[3]));
                    say((granted ? "granted " : "timeout ") + id);
                });
                return true;
            case "release":
                onThread(id, () -> {
                    lock(words[2]).release(number(words, 3));
                    say("released " + id);
                });
                return true;
            case "leases":
                onThread(id, () -> sayLeases(id, lock(words[2]).leases()));
                return true;
            case "cycle":
                onThread(id, () -> {
                    cycle(id, words);
                    say("cycled " + id);
                });
                return true;
            default:
                return false;
        }
    }

    private static void sayLeases(String id, Collection<Lease> leases) throws Exception {
        StringBuilder line = new StringBuilder("leases " + id + " " + leases.size());
        for (Lease lease : leases) {
            line.append(' ').append(lease.getNodeName()).append('=')
                    .append(new String(lease.getData(), StandardCharsets.UTF_8));
        }
        say(line.toString());
    }

    /** One write a record: it goes to the end of the file in one piece. */
    private static void record(FileOutputStream journal, String what, String id, int permits)
            throws IOException {
        String line = what + " " + id + " 0 " + permits + "\n";
        journal.write(line.getBytes(StandardCharsets.UTF_8));
    }

    private void cycle(String id, String[] words) throws Exception {
        Lock lock = lock(words[2]);
        int times = number(words, 4);
        int permits = number(words, 5);
        int roundTrips = number(words, 6);
        try (FileOutputStream journal = new FileOutputStream(words[3], true)) {
            for (int i = 0; i < times; i++) {
                lock.acquire(permits, -1);
                record(journal, "E", id, permits);
                for (int trip = 0; trip < roundTrips; trip++) {
                    client.checkExists().forPath("/");
                }
                record(journal, "L", id, permits);
                lock.release(permits);
            }
        }
    }

    /* --------------------------------------------- participants, revocation */

    private boolean asks(String[] words) {
        switch (words[0]) {
            case "participants":
                onThread("participants", () -> {
                    Collection<String> nodes = lock(words[1]).participants();
                    say("participants " + nodes.size() + " " + String.join(" ", nodes));
                });
                return true;
            case "revoke":
                onThread("revoker", () -> {
                    Revoker.attemptRevoke(client, words[1]);
                    say("asked " + words[1]);
                });
                return true;
            default:
                return false;
        }
    }

    /* ---------------------------------------------------------- shared count */

    private boolean counts(String[] words) {
        String name = words[1];
        switch (words[0]) {
            case "count":
                onThread(name, () -> {
                    Count made = new Count(name,
                            new SharedCount(client, words[2], number(words, 3)));
                    made.count.start();
                    made.count.addListener(made);
                    counts.put(name, made);
                    made.tell();
                });
                return true;
            case "get":
                onThread(name, () -> counts.get(name).tell());
                return true;
            case "set":
                onThread(name, () -> {
                    counts.get(name).count.setCount(number(words, 2));
                    say("set " + name);
                });
                return true;
            case "try_set":
                onThread(name, () -> {
                    Count count = counts.get(name);
                    boolean done = count.count.trySetCount(count.told, number(words, 2));
                    say("try_set " + name + " " + done);
                });
                return true;
            case "increment":
                onThread(name, () -> {
                    counts.get(name).increment(number(words, 2));
                    say("increment " + name);
                });
                return true;
            default:
                return false;
        }
    }

    /* -------------------------------------------------------------- elections */

    private boolean elects(String[] words) {
        String name = words[1];
        switch (words[0]) {
            case "latch":
                onThread(name, () -> {
                    say("made " + name);
                    elections.put(name, new Latch(client, name, words[2], words[3]));
                });
                return true;
            case "selector":
                onThread(name, () -> {
                    say("made " + name);
                    elections.put(name, new Selector(client, name, words[2], words[3]));
                });
                return true;
            case "resign":
                onThread(name, () -> {
                    elections.get(name).resign();
                    say("resigned " + name);
                });
                return true;
            case "elected":
                onThread(name, () -> sayElected(name, elections.get(name)));
                return true;
            case "leave":
                onThread(name, () -> {
                    elections.get(name).leave(words.length > 2 && words[2].equals("silent"));
                    say("left " + name);
                });
                return true;
            default:
                return false;
        }
    }

    private static void sayElected(String name, Election election) throws Exception {
        StringBuilder line = new StringBuilder("elected " + name + " ")
                .append(election.leader().getId());
        for (Participant participant : election.participants()) {
            line.append(' ').append(participant.getId());
        }
        say(line.toString());
    }
}
