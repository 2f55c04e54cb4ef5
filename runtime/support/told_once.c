#include "runtime/support/told_once.h"

bool kiln_told_add(struct kiln_told *told, uint64_t hash)
{
    uint64_t wanted = hash != 0 ? hash : 1;
    for (unsigned i = 0; i < KILN_TOLD_LIMIT; i++) {
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&told->hashes[i], &found, wanted))
            return true;
        if (found == wanted)
            return false;
    }
    return false;
}

void kiln_told_forget(struct kiln_told *told)
{
    for (unsigned i = 0; i < KILN_TOLD_LIMIT; i++)
        atomic_store(&told->hashes[i], 0);
}
