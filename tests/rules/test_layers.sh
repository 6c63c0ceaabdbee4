#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a lock is (src/) knows nothing of the world: no libuv, no ZooKeeper client,
# no thread, no clock, no I/O, and the allocator in memory.c alone.
#   test_layers.sh check <nm> <source directory> <object>...
#   test_layers.sh self-check <nm> <compiler>
# check looks at the symbols that the objects import, and at the sources, since a
# header or a macro may be there without a symbol. self-check gives check what it
# must refuse.
set -euo pipefail

# is_allowed <symbol> <file name of the object>
is_allowed() {
    case $1 in
    malloc | calloc | realloc | free) [[ $2 == memory.o || $2 == memory.c.o ]] ;;
    strdup | strndup | memalign) false ;; # these allocate
    mem* | str* | snprintf | vsnprintf) true ;;
    bcmp) true ;; # clang uses it for memcmp() == 0
    explicit_bzero | __explicit_bzero_chk) true ;; # memset that is not left out
    __mem*_chk | __str*_chk | __snprintf_chk | __vsnprintf_chk) true ;; # fortified
    __tls_get_addr) true ;; # thread-local variables
    qsort) true ;; # sorts in place if it cannot allocate memory
    abort | fprintf | __fprintf_chk | stderr) # a broken invariant, with assertions
        [[ $2 == invariant.o || $2 == invariant.c.o ]] ;;
    __assert_fail | __stack_chk_fail | _GLOBAL_OFFSET_TABLE_) true ;;
    __asan* | __ubsan* | __tsan* | __sanitizer* | __gcov* | __llvm_prof*) true ;; # instrumented
    llvm_gcov* | llvm_gcda*) true ;;
    *) false ;;
    esac
}

# check_symbols <nm> <object>...
check_symbols() {
    local nm=$1 object name symbol symbols status=0
    shift
    declare -A defined=()
    symbols=$("$nm" -g --defined-only "$@" | awk 'NF == 3 {print $3}') || status=1
    for symbol in $symbols; do
        defined[$symbol]=1
    done
    for object in "$@"; do
        name=${object##*/}
        symbols=$("$nm" -u "$object" | awk 'NF >= 2 {print $NF}') || status=1
        for symbol in $symbols; do
            if [[ -z ${defined[$symbol]:-} ]] && ! is_allowed "$symbol" "$name"; then
                echo "$name imports $symbol"
                status=1
            fi
        done
    done
    return $status
}

# check_sources <directory>
check_sources() {
    local file text found status=0
    local header='[<"]((uv|pthread|threads|time|sys/time)\.h|uv/|zookeeper)'
    local include="^[[:space:]]*#[[:space:]]*include[[:space:]]*$header"
    local allocation='(^|[^[:alnum:]_])(malloc|calloc|realloc|free|strn?dup)[[:space:]]*\('
    while IFS= read -r file; do
        text=$(sed -z 's:/\*\([^*]\|\*\+[^*/]\)*\*\+/: :g' "$file")
        if found=$(grep -E "$include" <<<"$text"); then
            echo "${file##*/}: $found"
            status=1
        fi
        if [[ $file != */memory.c ]] && found=$(grep -E "$allocation" <<<"$text"); then
            echo "${file##*/}: $found"
            status=1
        fi
    done < <(find "$1" -name '*.[ch]' | sort)
    return $status
}

check() {
    local nm=$1 sources=$2 status=0
    shift 2
    if [[ $# -eq 0 ]]; then
        echo "no objects to look at"
        return 1
    fi
    check_symbols "$nm" "$@" || status=1
    check_sources "$sources" || status=1
    return $status
}

# expect <what check prints, or nothing if it passes> <file name> <text of the file>
expect() {
    local status=0 work=$scratch/case
    rm -rf "$work"
    mkdir "$work"
    printf '%s\n' "$3" >"$work/$2"
    "$compiler" -std=c11 -D_GNU_SOURCE -O1 -w -fno-builtin -c "$work/$2" -o "$work/${2%.c}.o"
    check "$nm" "$work" "$work/${2%.c}.o" >"$work/says" || status=1
    if [[ -z $1 && $status -eq 0 ]]; then
        return
    fi
    if [[ -z $1 || $status -eq 0 ]] || ! grep -qF -- "$1" "$work/says"; then
        echo "check should say \"$1\", not \"$(<"$work/says")\", of $2: $3"
        failed=1
    fi
}

self_check() {
    nm=$1 compiler=$2 failed=0 # used by expect
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    local allocate='void *(malloc)(unsigned long); void *f(void) { return (malloc)(1); }'
    expect '' a.c '#include <string.h>
unsigned long f(const char *s) { return strlen(s); }'
    expect '' a.c '/* free(), #include <uv.h>
#include <time.h> */ int uvzk_free(int x) { return x; }
int f(void) { return uvzk_free(1); }'
    expect '' memory.c "$allocate"
    expect 'a.o imports malloc' a.c "$allocate"
    expect 'imports strdup' a.c 'char *strdup(const char *); char *f(void) { return strdup(""); }'
    expect 'imports uv_run' a.c 'int uv_run(void *, int); int f(void) { return uv_run(0, 0); }'
    expect 'imports zoo_state' a.c 'int zoo_state(void *); int f(void) { return zoo_state(0); }'
    expect 'imports uvzk_loop' a.c 'int uvzk_loop(void); int f(void) { return uvzk_loop(); }'
    expect 'imports time' a.c 'long time(long *); long f(void) { return time(0); }'
    expect 'imports errno_of' a.c 'extern int errno_of; int f(void) { return errno_of; }'
    local text
    for text in 'p = malloc(1);' 'free (p);' 'x=calloc(1, 2);' '(realloc(p, 2));' 'strndup(p, 1);'; do
        expect "$text" a.c "#if 0
$text
#endif
int f;"
    done
    for text in '<uv.h>' '"uv.h"' '<uv/unix.h>' '<zookeeper/zookeeper.h>' \
        '"zookeeper.h"' '<zookeeper.jute.h>' '<pthread.h>' '<threads.h>' '<time.h>' '<sys/time.h>'; do
        expect "include $text" a.c "#if 0
  # include $text
#endif
int f;"
    done
    return $failed
}

case ${1:-} in
check) shift && check "$@" ;;
self-check) shift && self_check "$@" ;;
*) sed -n '2,8s/^# //p' "$0" && exit 2 ;;
esac
