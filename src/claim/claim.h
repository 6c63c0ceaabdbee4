/* What one owner asks of one lock: acquisitions above, contenders below.
 *
 *   ASKING --- all its contenders hold ---> HELD --- release, loss ---.
 *     |  ^                                   |                         v
 *     |  +-------- proof ran out untold -----+                      GIVEN_UP
 *     +------------- refused, cancelled, timed out ------------------^ |
 *     |  ^                                   the last contender is gone v
 *     v  | could not begin: its contenders go                         freed
 *   EMPTYING
 *
 * The contenders decide among themselves (claim_kind) when the claim as a whole
 * holds; here is the plain way: when all of them do. A contender that ends for
 * whatever reason ends the claim, and the claim's end withdraws the others. */
#ifndef UVZK_CLAIM_H
#define UVZK_CLAIM_H

#include "base/machine.h"
#include "directory/queue.h"
#include "directory/wait_reason.h"

struct uvzk__lock;

/* Of a client. */
struct uvzk__claims {
    struct uvzk__link locks;       /* struct uvzk__lock */
    struct uvzk__link try_once;    /* acquisitions that are tried once */
    struct uvzk__link to_withdraw; /* claims whose contenders are to be withdrawn */
    char *user_text;               /* text that is lent to the user; NULL: none yet */
    size_t user_text_size;
    uint64_t locks_made;
};

/* Its memory is the client's. */
void uvzk__claims_init(struct uvzk__claims *);
void uvzk__claims_free(struct uvzk__claims *);

/* The number of a new lock: of the session's no other one has it, ever. */
static inline uint64_t uvzk__claims_number_lock(struct uvzk__claims *claims)
{
    return ++claims->locks_made;
}

/* Room for so many bytes that are lent to the user until the next call. NULL when out of
 * memory. */
char *uvzk__claims_user_text(struct uvzk__session *, size_t size);

/* What the contenders of a claim are to it; claim.c has the plain kind. */
struct uvzk__claim_kind {
    /* The contender holds its place in the directory, or no longer. */
    void (*granted)(struct uvzk__contender *);
    void (*ungranted)(struct uvzk__contender *);
    /* It is not wanted any more, whoever decided that. */
    void (*ended)(struct uvzk__contender *, int code);
    /* It wants its znode made. NULL: by a create of its own. */
    void (*create)(struct uvzk__contender *);
    /* Its znode is to be deleted: whether what stands at its path is certainly its own;
     * if not, the kind finds out, and pumps it. NULL: it is. */
    bool (*may_delete)(struct uvzk__contender *);
    /* Its node is gone for good, and this is how; it leaves the claim. May be NULL. */
    void (*contender_gone)(struct uvzk__contender *, int status);
    /* Instead of contenders it has claims: the one of a member, NULL beyond the last or
     * if it does not hold. May be NULL. */
    const struct uvzk__claim *(*member)(const struct uvzk__claim *, uint32_t index);
    /* The claim is given up: whether the kind sees to what it has. May be NULL. */
    bool (*keeps_contenders)(struct uvzk__claim *);
    /* The claim is freed: what the kind has put behind `extra`. May be NULL. */
    void (*freed)(struct uvzk__claim *);
    /* What it waits for, while it does not hold (timed_out_wait.h). NULL: for what its
     * contenders wait for. */
    void (*wait_reason)(const struct uvzk__claim *, size_t most,
                        struct uvzk__wait_reason *);
};

enum uvzk__claim_state {
    UVZK__CLAIM_ASKING,   /* next: HELD GIVEN_UP EMPTYING */
    UVZK__CLAIM_HELD,     /* next: ASKING GIVEN_UP */
    UVZK__CLAIM_EMPTYING, /* next: ASKING */
    UVZK__CLAIM_GIVEN_UP  /* final: its acquisitions are told, or wait for deletes */
};

extern const struct uvzk__machine uvzk__claim_machine;

struct uvzk__claim {
    const struct uvzk__claim_kind *kind;
    struct uvzk__session *session;
    struct uvzk__lock *lock; /* whose owner may re-enter; NULL if nobody may */
    struct uvzk__link link; /* on lock->claims; given up, on session->claims->to_withdraw,
                                    or where its kind keeps it */
    struct uvzk__ring acquisitions;
    struct uvzk__ring contenders;
    void *extra;              /* the kind's own */
    int64_t fencing_token;    /* of what is held */
    uint32_t refs;            /* it is not freed yet */
    uint32_t contender_count; /* not retired */
    uint32_t held_count;      /* of those, how many hold */
    int16_t release_status;   /* of the znodes that are gone: the first trouble, a code */
    uint8_t state;            /* enum uvzk__claim_state */
    bool persistent : 1;      /* its znodes outlive the session, and so does its hold */
    bool owned : 1;           /* it has an owner, claim.c */
    bool has_data : 1;        /* its znodes say something of their own, claim.c */
};

/* All contenders must hold; the end of one is the end of all. The token is the
 * greatest of theirs. */
extern const struct uvzk__claim_kind uvzk__claim_plain;
void uvzk__claim_plain_granted(struct uvzk__contender *);
void uvzk__claim_plain_ungranted(struct uvzk__contender *);
void uvzk__claim_plain_ended(struct uvzk__contender *, int code);

/* A new claim on the lock, in this session of its client, of the owner and with the data in
 * the options; without contenders. NULL when out of memory. */
struct uvzk__claim *uvzk__claim_new(struct uvzk__lock *, struct uvzk__session *,
                                    const struct uvzk__claim_kind *,
                                    const uvzk_acquire_options_t *);

/* NULL: it has none. */
const void *uvzk__claim_owner(const struct uvzk__claim *);

/* What its znodes are to say; NULL: the client's data. */
const void *uvzk__claim_data(const struct uvzk__claim *);
size_t uvzk__claim_data_length(const struct uvzk__claim *);
/* Whether both say the same, so that one may have the other's znode. */
bool uvzk__claim_same_data(const struct uvzk__claim *, const struct uvzk__claim *);

/* Frees a claim that has neither contenders nor acquisitions. */
void uvzk__claim_free(struct uvzk__claim *);

/* It holds as a whole, the clock not looked at; nobody wants it any more. */
static inline bool uvzk__claim_is_held(const struct uvzk__claim *claim)
{
    return claim->state == UVZK__CLAIM_HELD;
}
static inline bool uvzk__claim_is_given_up(const struct uvzk__claim *claim)
{
    return claim->state == UVZK__CLAIM_GIVEN_UP || claim->state == UVZK__CLAIM_EMPTYING;
}

/* The claim of this owner on the lock, or NULL. */
struct uvzk__claim *uvzk__claim_of(const struct uvzk__lock *, const void *owner);

/* It holds as a whole: its acquisitions are told. */
void uvzk__claim_grant(struct uvzk__claim *, int64_t token);
/* It does not, after all: those not told yet go on waiting. */
void uvzk__claim_ungrant(struct uvzk__claim *);

/* Nobody wants it any more: ends its acquisitions with this code, except for those
 * that are being released, and withdraws its contenders: a single one at once,
 * several in the next round of the turn. The claim may be gone afterwards. */
void uvzk__claim_end(struct uvzk__claim *, int code);
/* Withdraws the contenders of one that has ended, in the next round. */
void uvzk__claim_withdraw(struct uvzk__claim *);
/* The next round. */
void uvzk__claims_withdraw(struct uvzk__session *);

/* Withdraws the contenders of one that has not begun: it has none afterwards. */
void uvzk__claim_remove_contenders(struct uvzk__claim *);

/* It is not freed between the two. */
void uvzk__claim_ref(struct uvzk__claim *);
void uvzk__claim_unref(struct uvzk__claim *);

/* What is being released learns this; nothing will be known of the znodes. */
void uvzk__claim_fail_releases(struct uvzk__claim *, int code);

/* What is being released learns this, if nothing has been in its way before. */
void uvzk__claim_set_release_status(struct uvzk__claim *, int status);

/* A contender comes to the claim, or leaves it: the last one takes it along. */
void uvzk__claim_attach(struct uvzk__claim *, struct uvzk__contender *);
void uvzk__claim_detach(struct uvzk__contender *);
/* What its contenders tell it. */
extern const struct uvzk__contender_user uvzk__claim_contender_user;

/* A new contender of the claim in the directory of that path (uvzk__contender_new); with
 * options->queued_cb it is told how many stand before it. */
int uvzk__claim_add_contender(struct uvzk__claim *, const struct uvzk__directory_kind *,
                              struct uvzk__shared_path *path, const char *name_prefix,
                              const uvzk_acquire_options_t *,
                              struct uvzk__contender **out);

/* Ends those of its acquisitions that were tried once: it has to wait. */
void uvzk__claim_end_try_once(struct uvzk__claim *);

/* Its place is known: so many stand before it. */
void uvzk__claim_queued(struct uvzk__claim *, uint64_t ahead);

/* The first of its contenders; there must be one. */
struct uvzk__contender *uvzk__claim_first_contender(const struct uvzk__claim *);

/* The full path of its index-th znode, of those that hold; NULL if there is none. */
const char *uvzk__claim_node_path(const struct uvzk__claim *, uint32_t index);

/* Whether the user has been told of a grant. */
bool uvzk__claim_grant_notified(const struct uvzk__claim *);

/* Until when what it holds is known to be its own. */
uint64_t uvzk__claim_valid_until(const struct uvzk__claim *);

/* Whether it holds, as a whole, at this moment. */
bool uvzk__claim_holds(const struct uvzk__claim *);

#endif
