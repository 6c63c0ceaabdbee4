/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizations, as bits of uvzk__session.tuning. Tests switch single ones off.
 * Without any of them, the client runs the plain algorithm: create, getChildren, watch,
 * delete. */
#ifndef UVZK_TUNING_H
#define UVZK_TUNING_H

enum uvzk__tuning {
    /* The getChildren is sent right after the create, without waiting for its reply. */
    UVZK__TUNE_PIPELINE = 1,
    /* The next local contender is granted while the released znode is being deleted. */
    UVZK__TUNE_LOCAL_HANDOVER = 2,
    /* A contender with sequence number 0 is granted without a listing. */
    UVZK__TUNE_FIRST_SUFFIX = 4,
    /* Deletes of many locks are sent in one multi. */
    UVZK__TUNE_DELETE_BATCH = 8,
    /* Creates of many locks, one of each, are sent in one multi. */
    UVZK__TUNE_CREATE_BATCH = 16,
    /* A released lease is given to the next local claim, without deleting its znode. */
    UVZK__TUNE_LEASE_HANDOVER = 32,
    /* One ticket serves several local claims. */
    UVZK__TUNE_SHARED_TICKET = 64,
    /* Creates of several readers of one lock, which follow each other, are batched. */
    UVZK__TUNE_READERS = 128,
    /* A contender whose number follows a known one is granted without a listing. */
    UVZK__TUNE_WATERMARK = 256,
    /* A lease is created without a ticket if there is no other contender. Needs
     * WATERMARK. */
    UVZK__TUNE_DIRECT_LEASE = 512,
    /* A contender behind several foreign nodes prepares its grant before the last of them
     * goes. */
    UVZK__TUNE_PREPARE = 1024,
    /* A directory in which few sessions meet is followed by a persistent watch. */
    UVZK__TUNE_MIRROR = 2048,
    UVZK__TUNE_ALL = 4095
};

#endif
