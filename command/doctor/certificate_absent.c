/* SPDX-License-Identifier: Apache-2.0 */
/* A build without TLS: there is no session over TLS whose certificate could be looked at
 * (certificate.h). */
#include "doctor/certificate.h"

void certificate_look(struct certificate *certificate, uv_loop_t *loop,
                      const struct sockaddr *address, const char *name)
{
    (void)certificate;
    (void)loop;
    (void)address;
    (void)name;
}

void certificate_give_up(struct certificate *certificate)
{
    (void)certificate;
}

void certificate_free(struct certificate *certificate)
{
    (void)certificate;
}
