#ifndef UVZK_TUNING_H
#define UVZK_TUNING_H

/* The optimisations, each to be switched off here. Without any the client runs
 * the plain algorithm: create, list, watch, delete. */
enum uvzk__tuning {
    UVZK__TUNE_PIPELINE = 1,        /* the listing leaves behind the create,
                                      without waiting for its reply */
    UVZK__TUNE_LOCAL_HANDOVER = 2,  /* the next local contender is granted while
                                      the released node is still being deleted */
    UVZK__TUNE_FIRST_SUFFIX = 4,    /* suffix 0: granted without a listing */
    UVZK__TUNE_DELETE_BATCH = 8,    /* deletes of many locks in one multi */
    UVZK__TUNE_CREATE_BATCH = 16,   /* and creates, one of each lock */
    UVZK__TUNE_LEASE_HANDOVER = 32, /* a lease that is let go becomes the next local
                                       claim's, as it stands */
    UVZK__TUNE_SHARED_TICKET = 64,  /* a ticket serves several local claims */
    UVZK__TUNE_READERS = 128,       /* creates of readers in a row, of one lock */
    UVZK__TUNE_WATERMARK = 256,     /* the number behind a known one: granted without
                                      a listing */
    UVZK__TUNE_DIRECT_LEASE = 512,  /* a lease where nobody else is, without a ticket;
                                       only with WATERMARK */
    UVZK__TUNE_ALL = 1023
};

#endif
