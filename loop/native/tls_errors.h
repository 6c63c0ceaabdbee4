/* The errors that the program has left in the queue of OpenSSL's errors. The queue is the
 * thread's, so uvzk and the program share it. OpenSSL takes an error in the queue for one
 * of the call that was just made, and several of its calls empty the queue first. So the
 * program's errors are not there while uvzk calls OpenSSL, and are as they were
 * afterwards. */
#ifndef UVZK_TLS_ERRORS_H
#define UVZK_TLS_ERRORS_H

#include <stddef.h>

struct uvzk__tls_error;

struct uvzk__tls_errors {
    struct uvzk__tls_error *array; /* owned; NULL: there were none */
    size_t count;
};

/* Before calls of OpenSSL: the queue is empty afterwards. */
void uvzk__tls_errors_take(struct uvzk__tls_errors *errors);
/* Behind them: removes what they have left, and puts back what was taken. Out of
 * memory: the program's errors are lost. */
void uvzk__tls_errors_put_back(struct uvzk__tls_errors *errors);

#endif
