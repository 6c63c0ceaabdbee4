/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands, and what they share in reading a command line. */
#ifndef SUBCOMMANDS_H
#define SUBCOMMANDS_H

#include "connection.h"

/* Each runs one subcommand and returns the exit status. argv[0] is "uvzk", and argv[1]
 * the first word after the subcommand's name. */
int subcommand_lock(int argc, char **argv);
int subcommand_elect(int argc, char **argv);
int subcommand_leader(int argc, char **argv);
int subcommand_status(int argc, char **argv);
int subcommand_holders(int argc, char **argv);
int subcommand_wait(int argc, char **argv);
int subcommand_revoke(int argc, char **argv);
int subcommand_verify(int argc, char **argv);
int subcommand_serve(int argc, char **argv);
int subcommand_top(int argc, char **argv);
int subcommand_doctor(int argc, char **argv);

/* Prints the help and connection_help to stdout, and exits with EX_OK; with EX_IOERR if
 * the output fails. */
_Noreturn void subcommand_help(const char *help);
/* The command line is not valid: prints the first line of the help to stderr, and exits
 * with EX_USAGE. */
_Noreturn void subcommand_usage(const char *help);

/* Completes the options (connection_options_complete). If they are wrong, the process exits
 * with that exit code; if they name no servers, with EX_USAGE. */
void subcommand_needs_hosts(struct connection_options *);

#endif
