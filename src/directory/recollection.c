#include "directory/recollection.h"

#include <string.h>

#include "base/memory.h"

/* An eighth of them are set when a set has its fill. */
#define BITS (8U * UVZK__RECOLLECTIONS)
#define BITS_A_WORD 32U
#define WORDS (BITS / BITS_A_WORD)

static uint32_t bit_of(uint32_t directory, int32_t number)
{
    uint64_t mixed = ((uint64_t)directory << 32 | (uint32_t)number) + 1;

    mixed *= UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(mixed >> 40) % BITS;
}

static bool is_set(const uint32_t *set, uint32_t bit)
{
    return set != NULL && (set[bit / BITS_A_WORD] >> bit % BITS_A_WORD & 1U) != 0;
}

bool uvzk__remembers(const struct uvzk__recollection *recollection, uint32_t directory,
                     int32_t number)
{
    uint32_t bit = bit_of(directory, number);

    return is_set(recollection->newer, bit) || is_set(recollection->older, bit);
}

/* An empty set in the newer one's place. */
static void begin_anew(struct uvzk__recollection *recollection)
{
    uint32_t *set = recollection->older;

    if (set == NULL) {
        set = uvzk__calloc(WORDS, sizeof(*set));
    } else {
        memset(set, 0, WORDS * sizeof(*set));
    }
    recollection->older = recollection->newer;
    recollection->newer = set;
    recollection->count = 0;
}

void uvzk__remember(struct uvzk__recollection *recollection, uint32_t directory,
                    int32_t number)
{
    uint32_t bit = bit_of(directory, number);

    if (recollection->newer == NULL || recollection->count == UVZK__RECOLLECTIONS) {
        begin_anew(recollection);
    }
    if (recollection->newer != NULL) {
        recollection->newer[bit / BITS_A_WORD] |= 1U << bit % BITS_A_WORD;
        recollection->count++;
    }
}

void uvzk__recollection_free(struct uvzk__recollection *recollection)
{
    uvzk__free(recollection->newer);
    uvzk__free(recollection->older);
    memset(recollection, 0, sizeof(*recollection));
}
