/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * What bench/election_participants does, by Curator's LeaderLatch: the same options, the same
 * lines. A LeaderLatch cannot give up and stand again: it is closed, and another one is started.
 */
public final class CuratorElection {
    private static final String PATH = "/bench/election";

    private final Map<String, String> options = new HashMap<>();
    private final List<CuratorFramework> clients = new ArrayList<>();
    private final BlockingQueue<Participant> leaders = new LinkedBlockingQueue<>();
    private volatile boolean takingTurns;

    /** One participant; its latch is another one in each turn. */
    private final class Participant implements LeaderLatchListener {
        private final CuratorFramework client;
        private LeaderLatch latch;

        Participant(CuratorFramework client) {
            this.client = client;
        }

        void stand() throws Exception {
            latch = new LeaderLatch(client, PATH, "bench");
            latch.addListener(this);
            latch.start();
        }

        void giveUp() throws Exception {
            latch.close();
        }

        @Override
        public void isLeader() {
            leaders.add(this);
            if (!takingTurns) {
                System.out.println("leads");
            }
        }

        @Override
        public void notLeader() {
            // It is closed by whoever takes the turns.
        }
    }

    private CuratorElection(String[] arguments) {
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            options.put(arguments[i].substring(2), arguments[i + 1]);
        }
    }

    private int number(String option, int otherwise) {
        return Integer.parseInt(options.getOrDefault(option, Integer.toString(otherwise)));
    }

    private void begin() throws Exception {
        for (int i = 0; i < number("sessions", 1); i++) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(options.get("hosts"),
                    number("window", 6000), 15000, new ExponentialBackoffRetry(100, 10));
            clients.add(client);
            client.start();
            if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not connected");
            }
            new Participant(client).stand();
        }
    }

    private void takeTurns() throws Exception {
        int turns = number("tasks", 100);
        long began = System.nanoTime();

        takingTurns = true;
        for (int i = 0; i < turns; i++) {
            Participant leader = leaders.take();
            leader.giveUp();
            leader.stand();
        }
        leaders.take();
        System.out.println(String.format(Locale.ROOT, "done %.3f",
                (System.nanoTime() - began) / 1e9));
    }

    private void run() throws Exception {
        begin();
        BufferedReader input = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        if (input.readLine() != null) {
            takeTurns();
            input.readLine();
        }
        for (CuratorFramework client : clients) {
            client.close();
        }
    }

    public static void main(String[] arguments) throws Exception {
        new CuratorElection(arguments).run();
        System.exit(0);
    }
}
