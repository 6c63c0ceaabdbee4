#include "base/machine.h"

#include <stdio.h>

void uvzk__machine_text(const struct uvzk__machine *machine, unsigned from, unsigned to,
                        char *text)
{
    (void)snprintf(text, UVZK__MACHINE_TEXT, "%s: illegal move from %s to %s",
                   machine->name, uvzk__machine_state(machine, from),
                   uvzk__machine_state(machine, to));
}
