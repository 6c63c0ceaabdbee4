/* SPDX-License-Identifier: Apache-2.0 */
import java.io.File;
import java.lang.reflect.Method;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/**
 * ComposeDataDir DIRECTORY ZXID: for a server that does not run. It will take itself for one that
 * has carried out everything up to this transaction, and have no more than it has now: its leader
 * sends it what comes after.
 */
public final class ComposeDataDir {
    private ComposeDataDir() {
    }

    /** What save returns is not the same in all versions, and this class is compiled for one. */
    private static Method save() throws NoSuchMethodException {
        return FileTxnSnapLog.class.getMethod(
            "save", DataTree.class, ConcurrentHashMap.class, boolean.class);
    }

    public static void main(String[] arguments) throws Exception {
        File directory = new File(arguments[0]);
        FileTxnSnapLog files = new FileTxnSnapLog(directory, directory);
        ZKDatabase database = new ZKDatabase(files);
        database.loadDataBase();
        DataTree tree = database.getDataTree();
        tree.lastProcessedZxid = Long.decode(arguments[1]);
        save().invoke(files, tree, database.getSessionWithTimeOuts(), true);
        files.close();
    }
}
