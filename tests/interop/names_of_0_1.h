/* SPDX-License-Identifier: Apache-2.0 */
/* What UvzkPeer says of today's names, in those of version 0.1 (CHANGELOG.md has the whole
 * table). Included before its own text when it is built against that version. */
#ifndef NAMES_OF_0_1_H
#define NAMES_OF_0_1_H

#define uvzk_client_options_t uvzk_options_t
#define uvzk_client_options_init uvzk_options_init
#define uvzk_client_state_t uvzk_state_t
#define uvzk_hold_t uvzk_acquire_t
#define uvzk_hold_token uvzk_token
#define uvzk_hold_verify uvzk_verify
#define uvzk_hold_release uvzk_release

#endif
