/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.atomic.PromotedToLock;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;

/**
 * Those recipes of Curator that are a znode and no lock, spoken to in lines. Arguments:
 * hosts, session timeout in ms. NAME is an atomic long, a persistent node or a group member
 * of this peer.
 *
 * <pre>
 * atomic NAME PATH TRIES              made NAME
 * promoted NAME PATH TRIES MUTEX      made NAME     with a mutex behind the tries
 * get NAME                            value NAME true|false BEFORE AFTER
 * add NAME DELTA                      value NAME true|false BEFORE AFTER
 * compare_and_set NAME EXPECTED VALUE value NAME true|false BEFORE AFTER
 * force_set NAME VALUE                set NAME
 * initialize NAME VALUE               initialized NAME true|false
 * increment NAME TIMES                incremented NAME PROMOTED
 *     each time again until it succeeds; PROMOTED of them with the mutex.
 *
 * persistent NAME PATH MODE DATA      made NAME     the znode is there
 * await NAME PATH                     exists NAME   when the znode is there
 * group NAME PATH ID DATA             made NAME
 * set_data NAME DATA                  set NAME
 * await_members NAME ID=DATA...       lists NAME    when these are the members, by their ids
 * close NAME                          closed NAME
 * </pre>
 *
 * At first it says "ready"; whatever fails is "error NAME TEXT". It ends with its input.
 */
public final class CuratorNodesPeer {
    private final CuratorFramework client;
    private final Map<String, DistributedAtomicLong> numbers = new ConcurrentHashMap<>();
    private final Map<String, PersistentNode> nodes = new ConcurrentHashMap<>();
    private final Map<String, GroupMember> groups = new ConcurrentHashMap<>();
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

    private CuratorNodesPeer(CuratorFramework client) {
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
        CuratorNodesPeer peer = new CuratorNodesPeer(client);
        BufferedReader input = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            peer.onThread(words[1], words);
        }
        client.close();
        System.exit(0);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private void onThread(String name, String[] words) {
        threads.computeIfAbsent(name, i -> Executors.newSingleThreadExecutor())
                .submit(() -> {
                    try {
                        obey(name, words);
                    } catch (Throwable failure) {
                        say("error " + name + " " + failure);
                    }
                });
    }

    private void obey(String name, String[] words) throws Exception {
        DistributedAtomicLong number = numbers.get(name);
        switch (words[0]) {
            case "atomic":
            case "promoted":
                numbers.put(name, made(words));
                say("made " + name);
                break;
            case "get":
                tell(name, number.get());
                break;
            case "add":
                tell(name, number.add(Long.parseLong(words[2])));
                break;
            case "compare_and_set":
                tell(name, number.compareAndSet(
                        Long.parseLong(words[2]), Long.parseLong(words[3])));
                break;
            case "force_set":
                number.forceSet(Long.parseLong(words[2]));
                say("set " + name);
                break;
            case "initialize":
                say("initialized " + name + " "
                        + number.initialize(Long.parseLong(words[2])));
                break;
            case "increment":
                say("incremented " + name + " "
                        + increment(number, Integer.parseInt(words[2])));
                break;
            default:
                keep(name, words);
        }
    }

    private void keep(String name, String[] words) throws Exception {
        switch (words[0]) {
            case "persistent":
                PersistentNode node = new PersistentNode(client,
                        CreateMode.valueOf(words[3]), false, words[2], bytes(words[4]));
                nodes.put(name, node);
                node.start();
                if (!node.waitForInitialCreate(30, TimeUnit.SECONDS)) {
                    throw new IllegalStateException("the node is not created");
                }
                say("made " + name);
                break;
            case "await":
                while (client.checkExists().forPath(words[2]) == null) {
                    Thread.sleep(10);
                }
                say("exists " + name);
                break;
            case "group":
                GroupMember group = new GroupMember(client, words[2], words[3],
                        bytes(words[4]));
                groups.put(name, group);
                group.start();
                say("made " + name);
                break;
            case "set_data":
                groups.get(name).setThisData(bytes(words[2]));
                say("set " + name);
                break;
            case "await_members":
                String expected = " " + String.join(" ",
                        Arrays.copyOfRange(words, 2, words.length));
                while (!members(groups.get(name)).equals(expected)) {
                    Thread.sleep(10);
                }
                say("lists " + name);
                break;
            case "close":
                if (nodes.containsKey(name)) {
                    nodes.remove(name).close();
                } else {
                    groups.remove(name).close();
                }
                say("closed " + name);
                break;
            default:
                throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String members(GroupMember group) {
        StringBuilder line = new StringBuilder();
        new TreeMap<>(group.getCurrentMembers()).forEach((id, data) -> line.append(" ")
                .append(id).append("=").append(new String(data, StandardCharsets.UTF_8)));
        return line.toString();
    }

    private DistributedAtomicLong made(String[] words) {
        RetryNTimes tries = new RetryNTimes(Integer.parseInt(words[3]) - 1, 0);
        if (words[0].equals("atomic")) {
            return new DistributedAtomicLong(client, words[2], tries);
        }
        return new DistributedAtomicLong(client, words[2], tries, PromotedToLock.builder()
                .lockPath(words[4]).retryPolicy(new RetryNTimes(10, 1)).build());
    }

    private static void tell(String name, AtomicValue<Long> value) {
        say("value " + name + " " + value.succeeded() + " " + value.preValue() + " "
                + value.postValue());
    }

    private static int increment(DistributedAtomicLong number, int times) throws Exception {
        int promoted = 0;
        for (int done = 0; done < times; ) {
            AtomicValue<Long> value = number.increment();
            if (value.succeeded()) {
                done++;
            }
            if (value.getStats().getPromotedLockTries() > 0) {
                promoted++;
            }
        }
        return promoted;
    }
}
