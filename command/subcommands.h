/* The subcommands, one file each: they get what stands behind their name, and return the
 * exit status. And what they all do alike with a command line. */
#ifndef SUBCOMMANDS_H
#define SUBCOMMANDS_H

#include "connection.h"

int subcommand_lock(int argc, char **argv);
int subcommand_status(int argc, char **argv);
int subcommand_holders(int argc, char **argv);
int subcommand_wait(int argc, char **argv);
int subcommand_revoke(int argc, char **argv);
int subcommand_verify(int argc, char **argv);

/* Prints it, with the options of the connection, and ends the process: asked for, or
 * because the command line cannot be understood. */
_Noreturn void subcommand_help(const char *help);
_Noreturn void subcommand_usage(const char *help);

/* From the command line or from ZOOKEEPER_HOSTS; without any the process ends. */
void subcommand_needs_hosts(struct connection_options *);

#endif
