/* SPDX-License-Identifier: Apache-2.0 */
/* What the histories of persistent nodes and of group members have in common. Each client has
 * two handles, each of which keeps one znode in existence. They are opened, get new data and
 * are closed again and again. The first one of a client has a path of its own; the second
 * ones share a path, and one of them has the znode. */
#ifndef UVZK_NODE_HANDLES_H
#define UVZK_NODE_HANDLES_H

#include "recipe_history.h"

#define NODE_HANDLES 2
#define NODE_HANDLE_DATA_SIZE 24
#define NODE_HANDLE_PATH_SIZE 40

/* It begins the struct of each kind. */
struct node_handle {
    struct recipe_client *slot;
    void *object; /* the user's struct, made anew each time; NULL: closed */
    void **impl;  /* in it */
    bool shared, closing;
    char path[NODE_HANDLE_PATH_SIZE], data[NODE_HANDLE_DATA_SIZE];
    int status; /* of its znode, told last; 1: nothing yet */
    bool set;   /* data were set since */
    uint64_t next_ms;
    unsigned count; /* of its data */
};

struct node_handle_kind {
    const char *name, *znode_name; /* in the trace */
    size_t size;                   /* of its struct */
    void (*name_path)(struct node_handle *handle);
    /* Calls of the library. open: makes object and impl too. */
    int (*open)(struct node_handle *handle);
    int (*set)(struct node_handle *handle);
    int (*close)(struct node_handle *handle);
    /* Its znode is there, as it is to be; it is not there. */
    bool (*is_there)(const struct node_handle *handle);
    bool (*is_gone)(const struct node_handle *handle);
    /* May be NULL. What is to be besides: of one that is open, and of one that is closed. */
    bool (*is_right)(const struct node_handle *handle);
    bool (*is_right_closed)(const struct node_handle *handle);
    /* Fails with what is not as it is to be. */
    void (*complain)(const struct node_handle *handle);
};

struct node_handle_counts {
    uint64_t told, present, closes;
};

/* The handles of all clients, one after the other. */
size_t node_handles_size(const struct node_handle_kind *kind);
struct node_handle *node_handle_at(const struct recipe_history *history, int client,
                                   int number);

/* For the struct of the history's kind; directory: of all paths. */
void node_handles_begin(struct recipe_history *history, uint64_t seed,
                        const char *directory);
void node_handles_client_opened(struct recipe_client *client);
void node_handles_client_closed(struct recipe_client *client);
void node_handles_act(struct recipe_client *client, uint64_t now);
bool node_handles_are_settled(struct recipe_history *history);
void node_handles_heal(struct recipe_history *history);
void node_handles_end(struct recipe_history *history);

/* The callbacks: of its znode, and of the close. */
void node_handle_told(struct node_handle *handle, const void *object, int status,
                      struct node_handle_counts *counts);
void node_handle_closed(struct node_handle *handle, void *object, int status,
                        struct node_handle_counts *counts);

/* Returns true if one of the client's sessions has this number. */
bool node_handle_is_of(const struct node_handle *handle, int64_t owner);

#endif
