/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk for C++17, experimental: the functions of uvzk.h as objects that release what they
 * own. This header may change in any version, also after 1.0; the binary interface of
 * uvzk.h does not change with it. docs/guide/cpp.md has examples.
 *
 *     uvzk::result<uvzk::client> client = uvzk::client::open(loop, "10.0.0.1:2181");
 *     uvzk::result<uvzk::lock> stock = client->mutex("/product17");
 *     stock->acquire(10s).then([](uvzk::result<uvzk::hold> got) { ... });   // callbacks
 *     uvzk::result<uvzk::hold> got = co_await stock->acquire(10s);          // C++20
 *
 * The rules of uvzk.h about threads, outcomes and times apply here too. This header adds
 * no thread, no lock and no global state.
 *
 * Exceptions  uvzk throws none and needs none: -fno-exceptions and -fno-rtti work. A
 *             failed allocation is reported as UV_ENOMEM. A callable must not let an
 *             exception escape; a task carries it to whoever awaits it.
 * Moving      All objects can be moved, none can be copied. Each points to a state that
 *             stays where it is, so an object may be moved at any time, even while its
 *             call is pending. A moved-from object is empty; assign to it or destroy it.
 * Ends        A destructor never waits and never fails. That of a future cancels a
 *             pending call (an acquire is withdrawn, its znode deleted in the
 *             background), and releases the hold, or frees the result, that was not
 *             taken; its callback is no longer called, unless then() was called on an
 *             rvalue (see then). That of a hold releases the lock in the background;
 *             on_lost is no longer called. That of a client closes it and all of its
 *             objects. Those of the others close the object, as its close(), an election
 *             silently; its callbacks are no longer called.
 * Close       It takes time and memory: the states live until the library has called
 *             back, and then free themselves. So run the loop until it ends by itself.
 *             All objects may be destroyed in any order, in any callback, including their
 *             own. One that outlives its client refuses calls with UVZK_ECLOSED, as an
 *             empty one does.
 *
 * native() returns the C object, for functions that are missing here. &lock.native() may
 * be passed to any function of uvzk.h except a close. */
#ifndef UVZK_HPP
#define UVZK_HPP

#include <uvzk.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(__cpp_impl_coroutine) && __cplusplus >= 202002L
#define UVZK_COROUTINES 1
#include <coroutine>
#endif

namespace uvzk {

class client;

using std::chrono::milliseconds;

inline constexpr milliseconds forever{UVZK_WAIT_FOREVER};
inline constexpr milliseconds once{UVZK_TRY_ONCE};
inline constexpr milliseconds unlimited{UVZK_HOLD_UNLIMITED};

using client_state = uvzk_client_state_t;

/* ---------------------------------------------------------------------- results */

/* The result of a call: 0, or a negative code of uvzk or libuv. True if it is 0. */
class status {
  public:
    constexpr status(int code = 0) noexcept : code_(code)
    {
    }
    constexpr explicit operator bool() const noexcept
    {
        return code_ == 0;
    }
    constexpr int code() const noexcept
    {
        return code_;
    }
    const char *message() const noexcept /* a sentence; the text is static */
    {
        return uvzk_strerror(code_);
    }
    const char *name() const noexcept /* "UVZK_ELOST" */
    {
        return uvzk_err_name(code_);
    }
    /* What the code means for the next step, as uvzk_err_is_retriable and its kin. */
    bool is_retriable() const noexcept
    {
        return uvzk_err_is_retriable(code_) != 0;
    }
    bool outcome_is_unknown() const noexcept
    {
        return uvzk_err_outcome_is_unknown(code_) != 0;
    }
    bool hold_is_gone() const noexcept
    {
        return uvzk_err_hold_is_gone(code_) != 0;
    }
    friend constexpr bool operator==(status a, status b) noexcept
    {
        return a.code_ == b.code_;
    }
    friend constexpr bool operator!=(status a, status b) noexcept
    {
        return a.code_ != b.code_;
    }

  private:
    int code_;
};

/* A T, or the code that says why there is none. Accessing a T that does not exist is
 * undefined behaviour, as with std::optional. */
template <class T> class [[nodiscard]] result : public status {
  public:
    result(status why) noexcept : status(why.code() == 0 ? UVZK_ESTATE : why.code())
    {
    }
    result(int why) noexcept : result(status(why))
    {
    }
    result(T &&value) noexcept : value_(std::move(value))
    {
    }
    T &operator*() noexcept
    {
        return *value_;
    }
    T *operator->() noexcept
    {
        return &*value_;
    }
    const T &operator*() const noexcept
    {
        return *value_;
    }
    const T *operator->() const noexcept
    {
        return &*value_;
    }

  private:
    std::optional<T> value_;
};

/* CLOCK_BOOTTIME, the clock of uvzk::hold::valid_until. */
struct clock {
    using duration = milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept
    {
        return at(uvzk_now());
    }
    static time_point at(std::uint64_t ms) noexcept
    {
        return ms > static_cast<std::uint64_t>(INT64_MAX)
                   ? time_point::max()
                   : time_point(duration(static_cast<rep>(ms)));
    }
};

/* -------------------------------------------------------------------- callables */

/* Like std::function, but move-only, so a lambda may capture a hold. */
template <class Signature> class function;
template <class R, class... Arguments> class function<R(Arguments...)> {
  public:
    function() noexcept = default;
    template <class F, class = std::enable_if_t<
                           !std::is_same_v<std::decay_t<F>, function> &&
                           std::is_invocable_r_v<R, std::decay_t<F> &, Arguments...>>>
    function(F &&callable) noexcept
        : target_(new (std::nothrow) of<std::decay_t<F>>(std::forward<F>(callable))),
          no_memory_(target_ == nullptr)
    {
    }
    explicit operator bool() const noexcept
    {
        return target_ != nullptr;
    }
    /* True if an allocation failed: the call that receives it returns UV_ENOMEM. */
    bool no_memory() const noexcept
    {
        return no_memory_;
    }
    R operator()(Arguments... arguments)
    {
        return target_->call(std::forward<Arguments>(arguments)...);
    }

  private:
    struct any {
        virtual ~any() = default;
        virtual R call(Arguments... arguments) = 0;
    };
    template <class F> struct of final : any {
        template <class G> explicit of(G &&callable) : f(std::forward<G>(callable))
        {
        }
        R call(Arguments... arguments) override
        {
            return f(std::forward<Arguments>(arguments)...);
        }
        F f;
    };
    std::unique_ptr<any> target_;
    bool no_memory_ = false;
};

/* -------------------------------------------------------------------- internals */

namespace detail {

/* A NUL-terminated copy of a text. */
class text {
  public:
    explicit text(std::string_view from) noexcept
        : text_(new (std::nothrow) char[from.size() + 1]())
    {
        if (from.find('\0') != from.npos) {
            status_ = UV_EINVAL;
        } else if (text_ == nullptr) {
            status_ = UV_ENOMEM;
        } else {
            from.copy(text_.get(), from.size());
        }
    }
    int status() const noexcept
    {
        return status_;
    }
    const char *c_str() const noexcept
    {
        return text_.get();
    }

  private:
    std::unique_ptr<char[]> text_;
    int status_ = 0;
};

struct call;

/* A callable or a coroutine that waits for a call. It hears of one event, once. */
struct waiter {
    virtual void wake(call &) noexcept = 0; /* done; the call no longer refers to it */
    virtual void forgotten() noexcept       /* the call is destroyed before it is done */
    {
    }

  protected:
    ~waiter() = default;
};

/* What a call owns besides its C future. It is notified when the call is destroyed. */
struct attachment {
    virtual void dropped() noexcept = 0;

  protected:
    ~attachment() = default;
};

/* The state of a future, and later of its hold. It is reference-counted: the future or
 * the hold object, and a callback while it runs, are its owners. */
struct call {
    uvzk_future_t c{};
    unsigned owners = 1;
    int status = UV_EAGAIN;
    int lost = 0; /* of a hold: why it was lost; 0: not lost */
    bool taken = false;
    waiter *waiting = nullptr;
    attachment *attached = nullptr;
    function<void(uvzk::status)> on_lost;
    function<void(std::uint64_t)> on_queued;
    function<void()> on_revoke;
    function<void(std::uint64_t)> on_max_hold;

    ~call()
    {
        uvzk_future_drop(&c);
        if (waiting != nullptr) {
            waiting->forgotten();
        }
        if (attached != nullptr) {
            attached->dropped();
        }
    }
    /* A part that a combination has cancelled is done before it is notified. */
    int state() const noexcept
    {
        int now = status == UV_EAGAIN ? uvzk_future_status(&c) : status;

        return now == UVZK_ESTATE ? status : now; /* as for a close: it has no C future */
    }
    void done(int how) noexcept
    {
        status = how;
        if (waiting != nullptr) {
            owners++; /* the waiter may drop the last other reference */
            std::exchange(waiting, nullptr)->wake(*this);
            let_go();
        }
    }
    void let_go() noexcept
    {
        if (--owners == 0) {
            end();
        }
    }

    /* What a hold object does at its end. */
    void give_back() noexcept
    {
        uvzk_future_drop(&c);
        let_go();
    }

    static call &of(uvzk_hold_t *hold) noexcept
    {
        return *static_cast<call *>(static_cast<uvzk_future_t *>(hold->data)->data);
    }
    static void tell_done(uvzk_future_t *, int status, void *context) noexcept
    {
        static_cast<call *>(context)->done(status);
    }
    static void tell_lost(uvzk_hold_t *hold, int reason) noexcept
    {
        of(hold).lost = reason;
        tell<&call::on_lost>(hold, reason);
    }
    /* The callback of C that runs the callable Member. The callable may replace itself
     * and destroy the object that it belongs to. So it is moved out first, and put back
     * only if it was not replaced. */
    template <auto Member, class... Arguments>
    static void tell(uvzk_hold_t *hold, Arguments... arguments) noexcept
    {
        call &self = of(hold);
        auto &callable = self.*Member;
        if (callable) {
            self.owners++;
            auto now = std::exchange(callable, {});
            now(arguments...);
            if (!callable) {
                callable = std::move(now);
            }
            self.let_go();
        }
    }

  private:
    /* Not inline: otherwise gcc 12 warns, as it cannot follow the count of owners. */
#if defined(__GNUC__)
    __attribute__((noinline))
#endif
    void
    end() noexcept
    {
        delete this;
    }
};

/* The owner of a state: it can be moved and not copied, and a moved-from one is empty. At
 * its end it calls End, and the state frees itself. */
template <auto End> struct ends {
    template <class State> void operator()(State *of) const noexcept
    {
        (of->*End)();
    }
};
template <class State, auto End> using owned = std::unique_ptr<State, ends<End>>;

using call_ref = owned<call, &call::let_go>; /* one of the counted owners */

inline call_ref share(const call_ref &from) noexcept
{
    if (from) {
        from->owners++;
    }
    return call_ref(from.get());
}

/* Ends a call that has no C future. It does not own the call: the call is destroyed with
 * its future object, and this object then forgets it. */
class ending : public attachment {
  public:
    ending() noexcept = default;
    ending(const ending &) = delete;
    ending &operator=(const ending &) = delete;
    ~ending()
    {
        if (call_ != nullptr) {
            call_->attached = nullptr;
        }
    }
    void expect(const call_ref &of) noexcept
    {
        call_ = of.get();
        call_->attached = this;
    }
    bool is_expected() const noexcept
    {
        return call_ != nullptr;
    }
    /* Hands over the call, which the caller ends; empty: nothing waits for it. */
    call_ref take() noexcept
    {
        if (call_ == nullptr) {
            return call_ref();
        }
        call_->attached = nullptr;
        call_->owners++;
        return call_ref(std::exchange(call_, nullptr));
    }
    void dropped() noexcept override
    {
        call_ = nullptr;
    }

  private:
    call *call_ = nullptr;
};

/* What a call has found; NULL if it is pending, cancelled, or has no request. */
inline const uvzk_result_t *result_of(const call_ref &from) noexcept
{
    return from && from->c.impl != nullptr ? uvzk_future_req(&from->c)->result : nullptr;
}

/* Makes a future's T from a call that succeeded; void has only the status. */
template <class T> struct outcome {
    using type = result<T>;
    static type of(const call_ref &from) noexcept
    {
        return T(share(from));
    }
};
template <> struct outcome<void> {
    using type = status;
    static type of(const call_ref &) noexcept
    {
        return 0;
    }
};

struct access;

} // namespace detail

template <class T> using outcome = typename detail::outcome<T>::type;

/* ---------------------------------------------------------------------- futures */

/* The outcome of a call, as an outcome<T>: a result<T>, or a status if the call has no
 * result. If the call was refused at once, the future is done with that status. */
template <class T> class future {
  public:
    future() noexcept = default; /* empty: done with UVZK_ESTATE */

    bool done() const noexcept
    {
        return state() != status(UV_EAGAIN);
    }
    /* The status of the call; UV_EAGAIN while it is pending. */
    uvzk::status state() const noexcept
    {
        return call_ ? call_->state() : refused_;
    }
    /* Takes the result, once. If there is none, returns the status of the call: UV_EAGAIN
     * while it is pending, UVZK_ESTATE if the result was taken before, the reason of the
     * loss if it is a hold that was lost. */
    outcome<T> take() noexcept
    {
        uvzk::status now = state();
        if (!now) {
            return now;
        }
        if (std::exchange(call_->taken, true)) {
            return status(UVZK_ESTATE);
        }
        if (call_->lost != 0) {
            return status(call_->lost);
        }
        return detail::outcome<T>::of(call_);
    }

    /* Cancel the future: with UV_ECANCELED now, or with UV_ETIMEDOUT if it is still
     * pending after the timeout. UVZK_ESTATE: it is done, or belongs to a close,
     * next_change() or sleep_for(), and only its destructor cancels it. deadline() also:
     * UV_EINVAL: a negative timeout; UVZK_ECLOSED: the client is closed. */
    uvzk::status cancel() noexcept
    {
        return call_ ? uvzk_future_cancel(&call_->c) : UVZK_ESTATE;
    }
    uvzk::status deadline(milliseconds timeout) noexcept
    {
        if (!call_) {
            return UVZK_ESTATE;
        }
        if (timeout.count() < 0) {
            return UV_EINVAL;
        }
        return uvzk_future_deadline(&call_->c,
                                    static_cast<std::uint64_t>(timeout.count()));
    }

    /* Calls callable(outcome<T>) when the future is done: on an lvalue only if the future
     * still exists then, on an rvalue always, at the latest when the client is closed.
     *
     *     waiting = lock.acquire(10s);
     *     waiting.then(f);               // waiting = {}; cancels it, f is not called
     *     lock.acquire(10s).then(f);     // always called; as std::move(waiting).then(f)
     *
     * If then() returns an error, callable is never called: the status with which the
     * call was refused; UV_ENOMEM; UV_EBUSY: a callable or a coroutine waits for the
     * future already; UVZK_ESTATE: the future is done. */
    template <class F> uvzk::status then(F &&callable) &noexcept
    {
        return wait(std::forward<F>(callable), nullptr);
    }
    template <class F> uvzk::status then(F &&callable) &&noexcept
    {
        return wait(std::forward<F>(callable), this);
    }

    /* The part of a combination that was done first (place 0), second, ...; SIZE_MAX. */
    std::size_t winner(std::size_t place = 0) const noexcept
    {
        return call_ ? uvzk_future_winner(&call_->c, place) : SIZE_MAX;
    }
    /* The operation of a write that was refused, by its index; SIZE_MAX: not known. */
    std::size_t refused_operation() const noexcept
    {
        const uvzk_result_t *found = detail::result_of(call_);
        return found != nullptr ? found->failed_op : SIZE_MAX;
    }

#ifdef UVZK_COROUTINES
    /* co_await lock.acquire(10s); or co_await an lvalue future, which then shares the
     * call with the coroutine. The coroutine resumes in the callback. If it is destroyed
     * instead, it stops waiting, as if its future had been destroyed. The result is
     * UV_EBUSY if a callable or another coroutine waits for the future already. */
    auto operator co_await() &&noexcept
    {
        return awaiter(std::move(*this));
    }
    auto operator co_await() &noexcept
    {
        return awaiter(share());
    }
#endif

  private:
    friend struct detail::access;
    template <class F> struct node final : detail::waiter {
        template <class G> explicit node(G &&callable) : f(std::forward<G>(callable))
        {
        }
        void wake(detail::call &by) noexcept override
        {
            std::unique_ptr<node> end(this);
            by.owners++;
            future of{detail::call_ref(&by)};
            own = future(); /* after this, `of` may be the last owner of the call */
            f(of.take());
        }
        void forgotten() noexcept override
        {
            delete this;
        }
        F f;
        future own; /* the future, if then() was called on an rvalue; else empty */
    };

    explicit future(int refused) noexcept : refused_(refused)
    {
    }
    explicit future(detail::call_ref call) noexcept : call_(std::move(call))
    {
    }
    future share() const noexcept
    {
        future shared(detail::share(call_));
        shared.refused_ = refused_;
        return shared;
    }
    template <class F> int wait(F &&callable, future *given_away) noexcept
    {
        if (!call_) {
            return refused_;
        }
        if (done()) {
            return UVZK_ESTATE;
        }
        if (call_->waiting != nullptr) {
            return UV_EBUSY;
        }
        auto *made = new (std::nothrow) node<std::decay_t<F>>(std::forward<F>(callable));
        if (made == nullptr) {
            return UV_ENOMEM;
        }
        call_->waiting = made;
        if (given_away != nullptr) {
            made->own = std::move(*given_away);
        }
        return 0;
    }

#ifdef UVZK_COROUTINES
    class awaiter final : detail::waiter {
      public:
        explicit awaiter(future &&of) noexcept : of_(std::move(of))
        {
        }
        awaiter(const awaiter &) = delete;
        awaiter &operator=(const awaiter &) = delete;
        ~awaiter()
        {
            if (of_.call_ && of_.call_->waiting == this) {
                of_.call_->waiting = nullptr;
            }
        }
        bool await_ready() const noexcept
        {
            return of_.done() || of_.call_->waiting != nullptr;
        }
        void await_suspend(std::coroutine_handle<> waits) noexcept
        {
            waits_ = waits;
            of_.call_->waiting = this;
        }
        outcome<T> await_resume() noexcept
        {
            return of_.done() ? of_.take() : outcome<T>(UV_EBUSY);
        }
        void wake(detail::call &) noexcept override
        {
            waits_.resume();
        }

      private:
        future of_;
        std::coroutine_handle<> waits_;
    };
#endif

    detail::call_ref call_;
    int refused_ = UVZK_ESTATE;
};

namespace detail {

struct access {
    template <class T> static future<T> refused(int status) noexcept
    {
        return future<T>(status);
    }
    template <class T> static future<T> pending(call_ref call) noexcept
    {
        return future<T>(std::move(call));
    }
    template <class T> static call *call_of(const future<T> &from) noexcept
    {
        return from.call_.get();
    }
    /* The future itself, or another one of the same call. */
    template <class T> static future<T> part_of(future<T> &&given) noexcept
    {
        return std::move(given);
    }
    template <class T> static future<T> part_of(future<T> &kept) noexcept
    {
        return kept.share();
    }
};

/* Makes a call, which begin(future) starts: it returns 0, or the error of a refusal. */
template <class T, class Begin> future<T> future_of(Begin begin) noexcept
{
    call_ref made(new (std::nothrow) call);
    if (!made) {
        return access::refused<T>(UV_ENOMEM);
    }
    made->c.data = made.get();
    int refused = begin(&made->c);
    if (refused == 0) {
        refused = uvzk_future_then(&made->c, call::tell_done, made.get());
    }
    return refused != 0 ? access::refused<T>(refused)
                        : access::pending<T>(std::move(made));
}

/* A future without a C future, which `by` ends. */
inline future<void> ended_by(ending &by) noexcept
{
    call_ref told(new (std::nothrow) call);
    if (!told) {
        return access::refused<void>(UV_ENOMEM);
    }
    by.expect(told);
    return access::pending<void>(std::move(told));
}

/* The call of C that Function begins on an object; without one, it is refused. */
template <auto Function, class T = void, class Object, class... Arguments>
future<T> ask(Object *of, int without, const Arguments &...arguments) noexcept
{
    if (of == nullptr) {
        return access::refused<T>(without);
    }
    return future_of<T>([&](uvzk_future_t *c) {
        return Function(of, uvzk_future_req(c), arguments..., uvzk_future_complete);
    });
}

/* The state of an object that Close closes. Self is the state; its member c is the object
 * of C, or refers to it. The state frees itself when the library has called back, or at
 * once if its client was closed before. Self may hide drop(), end(), free(). */
template <class Self, class Native, auto Close> struct owned_state {
    using native = Native;

    ending closing;

    static Self &of(Native *c) noexcept
    {
        return *static_cast<Self *>(c->data);
    }
    void begin_close() noexcept
    {
        if (Close(&self().c, closed) != 0) {
            self().end(0); /* it was closed with its client */
        }
    }
    void drop() noexcept /* what the destructor of its owner does */
    {
        begin_close();
    }
    void end(int how) noexcept
    {
        call_ref told = closing.take();
        self().free();
        if (told) {
            told->done(how);
        }
    }
    void free() noexcept
    {
        delete &self();
    }

    /* The callback of C that calls the callable Member. */
    template <auto Member, class... Arguments>
    static void tell(Native *c, Arguments... arguments) noexcept
    {
        if (auto &callable = of(c).*Member) {
            callable(arguments...);
        }
    }

  private:
    static void closed(Native *c) noexcept
    {
        of(c).end(0);
    }
    static void closed(Native *c, int how) noexcept
    {
        of(c).end(how);
    }
    Self &self() noexcept
    {
        return *static_cast<Self *>(this);
    }
};

/* The state of an object that has only its C object and callables of a status. */
template <class Native, auto Close>
struct plain_state final : owned_state<plain_state<Native, Close>, Native, Close> {
    Native c{};
    function<void(status)> on_change, on_members; /* of a group member: on_members */
};

using barrier_state = plain_state<uvzk_barrier_t, uvzk_barrier_close>;
using double_barrier_state =
    plain_state<uvzk_double_barrier_t, uvzk_double_barrier_close>;
using atomic_long_state = plain_state<uvzk_atomic_long_t, uvzk_atomic_long_close>;
using persistent_node_state =
    plain_state<uvzk_persistent_node_t, uvzk_persistent_node_close>;
using group_member_state = plain_state<uvzk_group_member_t, uvzk_group_member_close>;

/* What all objects that close themselves have. */
template <class State> class owner {
  public:
    owner() noexcept = default; /* empty */

    explicit operator bool() const noexcept
    {
        return state_ != nullptr;
    }
    /* Closes the object, which is empty at once. The future is done when it has been
     * closed, with the status of the close's callback if that has one. */
    future<void> close() noexcept
    {
        if (state_ == nullptr) {
            return access::refused<void>(UVZK_ECLOSED);
        }
        future<void> closed = ended_by(state_->closing);
        if (!closed.done()) {
            state_.release()->begin_close();
        }
        return closed;
    }
    auto &native() const noexcept
    {
        return state_->c;
    }

  protected:
    friend class uvzk::client;
    using state_type = State;

    explicit owner(State *made) noexcept : state_(made)
    {
        made->c.data = made;
    }
    typename State::native *native_if() const noexcept
    {
        return state_ == nullptr ? nullptr : &state_->c;
    }
    template <auto Function, class T = void, class... Arguments>
    future<T> asked(const Arguments &...arguments) noexcept
    {
        return ask<Function, T>(native_if(), UVZK_ECLOSED, arguments...);
    }

    owned<State, &State::drop> state_;
};

/* What a part of a combination yields on success: a T; for void a status. */
template <class T> struct part {
    using type = T;
    static T of(result<T> &&from) noexcept
    {
        return std::move(*from);
    }
};
template <> struct part<void> {
    using type = status;
    static status of(status from) noexcept
    {
        return from;
    }
};

/* The parts of a combination. Only the second class knows which have no result. */
template <class Results> struct parts_with : attachment {
    virtual result<Results> take() noexcept = 0;

  protected:
    ~parts_with() = default;
};
template <class... T>
struct parts final : parts_with<std::tuple<typename part<T>::type...>> {
    using results = std::tuple<typename part<T>::type...>;

    explicit parts(future<T>... given) noexcept : of(std::move(given)...)
    {
    }
    void dropped() noexcept override
    {
        delete this;
    }
    /* The results of all, or the first failure: a hold may have been lost, or a result
     * taken, after the combination was done. */
    result<results> take() noexcept override
    {
        std::tuple<uvzk::outcome<T>...> taken = std::apply(
            [](auto &...each) { return std::tuple<uvzk::outcome<T>...>(each.take()...); },
            of);
        return std::apply(
            [](auto &...each) -> result<results> {
                int failure = 0;
                ((failure = failure != 0 ? failure : each.code()), ...);
                if (failure != 0) {
                    return failure;
                }
                return results(part<T>::of(std::move(each))...);
            },
            taken);
    }

    std::tuple<future<T>...> of;
};
template <class... Parts> struct outcome<std::tuple<Parts...>> {
    using type = result<std::tuple<Parts...>>;
    static type of(const call_ref &from) noexcept
    {
        using all = parts_with<std::tuple<Parts...>>;
        return static_cast<all *>(from->attached)->take();
    }
};

/* The T of a future<T>, for functions that take futures only. */
template <class F> struct future_value {
};
template <class T> struct future_value<future<T>> {
    using type = T;
};
template <class F>
using value_of = typename future_value<std::remove_reference_t<F>>::type;

/* The futures of a vector, a span, an array: a future<T> *, if its elements are futures
 * that may be changed and outlive the call. An rvalue that owns them has none. */
template <class Range> using elements = decltype(std::data(std::declval<Range>()));
template <class Range>
using value_of_range = value_of<decltype(*std::declval<elements<Range>>())>;

/* Finds the C future of a part. Returns 0, or the status with which it was refused. */
template <class T> int name_part(uvzk_future_t *&named, const future<T> &from) noexcept
{
    call *part = access::call_of(from);

    named = part == nullptr ? nullptr : &part->c;
    return part == nullptr ? from.state().code() : 0;
}

template <class T, class Combine>
future<void> combined(future<T> *parts, std::size_t count, Combine combine) noexcept
{
    std::unique_ptr<uvzk_future_t *[]> named(new (std::nothrow)
                                                 uvzk_future_t *[count + 1]);
    int refused = named == nullptr ? UV_ENOMEM : 0;
    for (std::size_t i = 0; i < count && refused == 0; i++) {
        refused = name_part(named[i], parts[i]);
    }
    if (refused != 0) {
        return access::refused<void>(refused);
    }
    return future_of<void>(
        [&](uvzk_future_t *whole) { return combine(whole, named.get(), count); });
}

/* The same for parts of several types. */
template <class Results, class Combine, class... T>
future<Results> combined_of(Combine combine, const future<T> &...parts) noexcept
{
    static_assert(sizeof...(T) > 0, "a combination has parts");
    uvzk_future_t *named[sizeof...(T)] = {};
    std::size_t count = 0;
    int refused = 0;
    ((refused = refused != 0 ? refused : name_part(named[count++], parts)), ...);
    if (refused != 0) {
        return access::refused<Results>(refused);
    }
    return future_of<Results>(
        [&](uvzk_future_t *whole) { return combine(whole, named, count); });
}

template <class... T>
future<typename parts<T...>::results> all_parts(future<T>... given) noexcept
{
    using results = typename parts<T...>::results;
    std::unique_ptr<parts<T...>> all(new (std::nothrow) parts<T...>(std::move(given)...));
    if (all == nullptr) {
        return access::refused<results>(UV_ENOMEM);
    }
    future<results> whole = std::apply(
        [](auto &...each) { return combined_of<results>(uvzk_future_all_of, each...); },
        all->of);
    if (call *made = access::call_of(whole)) {
        made->attached = all.release();
    }
    return whole;
}

/* A timer of libuv, until it is closed; then it frees itself. */
struct timer final : ending {
    uv_timer_t c{};

    static void due(uv_timer_t *c) noexcept
    {
        timer &self = *static_cast<timer *>(c->data);
        call_ref told = self.take();
        self.close();
        if (told) {
            told->done(0);
        }
    }
    void dropped() noexcept override /* its future was destroyed while it was pending */
    {
        ending::dropped();
        close();
    }

  private:
    void close() noexcept
    {
        uv_close(reinterpret_cast<uv_handle_t *>(&c), closed);
    }
    static void closed(uv_handle_t *c) noexcept
    {
        delete static_cast<timer *>(c->data);
    }
};

} // namespace detail

/* Combine futures: all, any, or n of the parts, as uvzk_future_n_of. The caller keeps the
 * parts and takes the results of those that succeeded. If a part was refused, its status
 * is that of the combination. */
template <class T> future<void> all_of(future<T> *parts, std::size_t count) noexcept
{
    return detail::combined(parts, count, uvzk_future_all_of);
}
template <class T> future<void> any_of(future<T> *parts, std::size_t count) noexcept
{
    return detail::combined(parts, count, uvzk_future_any_of);
}
template <class T>
future<void> n_of(future<T> *parts, std::size_t count, std::size_t n) noexcept
{
    return detail::combined(
        parts, count,
        [n](uvzk_future_t *whole, uvzk_future_t *const *of, std::size_t all) {
            return uvzk_future_n_of(whole, of, all, n);
        });
}

/* The same of the futures in a std::vector, std::array, std::span (C++20) or array, which
 * the caller keeps too. A temporary vector does not compile. */
template <class Range, class T = detail::value_of_range<Range>>
future<void> all_of(Range &&parts) noexcept
{
    return all_of<T>(std::data(parts), std::size(parts));
}
template <class Range, class T = detail::value_of_range<Range>>
future<void> any_of(Range &&parts) noexcept
{
    return any_of<T>(std::data(parts), std::size(parts));
}
template <class Range, class T = detail::value_of_range<Range>>
future<void> n_of(Range &&parts, std::size_t n) noexcept
{
    return n_of<T>(std::data(parts), std::size(parts), n);
}

/* Combines futures of any types and takes their results together, as a std::tuple; a part
 * without a result has a status there, which is 0:
 *
 *     auto both = co_await uvzk::all_of(from.acquire(10s), to.acquire(10s));
 *     if (both) { auto &[debit, credit] = *both; ... } // two holds
 *
 * If a part fails, the combination is done with its status; the others are cancelled, and
 * what they have acquired is released. An rvalue part belongs to the combination and ends
 * with it, also if that is refused. An lvalue part is shared with the caller; if the
 * caller takes its result first, the combination gets UVZK_ESTATE for it. If a hold is
 * lost before the results are taken, the result is the reason of the loss. UVZK_ESTATE:
 * also a part of a close, next_change() or sleep_for(). */
template <class... F>
[[nodiscard]] auto all_of(F &&...parts) noexcept
    -> future<typename detail::parts<detail::value_of<F>...>::results>
{
    return detail::all_parts<detail::value_of<F>...>(
        detail::access::part_of(std::forward<F>(parts))...);
}

/* Combines futures of any types. The caller keeps the parts, as above. */
template <class... T> [[nodiscard]] future<void> any_of(future<T> &...parts) noexcept
{
    return detail::combined_of<void>(uvzk_future_any_of, parts...);
}

/* ----------------------------------------------------------------------- timers */

/* Waits: co_await uvzk::sleep_for(loop, 10ms). The future is done with 0 when that much
 * time has passed on the loop's clock (uv_now) since the call. Its destructor stops the
 * timer. It belongs to no client, cannot be a part of a combination, and keeps the loop
 * running. Call it on the loop's thread. With libuvzk-sim.a it takes real time. Refused
 * with UV_EINVAL: loop is NULL, or the duration is negative; UV_ENOMEM. */
[[nodiscard]] inline future<void> sleep_for(uv_loop_t *loop,
                                            milliseconds duration) noexcept
{
    if (loop == nullptr || duration.count() < 0) {
        return detail::access::refused<void>(UV_EINVAL);
    }
    std::unique_ptr<detail::timer> timer(new (std::nothrow) detail::timer);
    detail::call_ref told(new (std::nothrow) detail::call);
    if (timer == nullptr || !told) {
        return detail::access::refused<void>(UV_ENOMEM);
    }
    int status = uv_timer_init(loop, &timer->c);
    if (status < 0) {
        return detail::access::refused<void>(status);
    }
    timer->c.data = timer.get();
    uv_update_time(loop); /* a callback may have run for long since the last time */
    (void)uv_timer_start(&timer->c, detail::timer::due,
                         static_cast<std::uint64_t>(duration.count()), 0);
    timer.release()->expect(told);
    return detail::access::pending<void>(std::move(told));
}

/* ------------------------------------------------------------------------ holds */

/* A lock that is held until it is released or lost, or this object is destroyed. */
class hold {
  public:
    hold() noexcept = default; /* empty */
    explicit hold(detail::call_ref call) noexcept : call_(call.release())
    {
    }

    /* True if the lock is granted, and the hold was neither released nor lost. */
    explicit operator bool() const noexcept
    {
        return native() != nullptr;
    }
    /* True if the hold is valid now, as uvzk_hold_is_valid, with the same limits. */
    bool is_valid() const noexcept
    {
        return uvzk_hold_is_valid(native()) != 0;
    }
    clock::time_point valid_until() const noexcept
    {
        return clock::at(uvzk_hold_valid_until(native()));
    }
    std::int64_t token() const noexcept /* the fencing token; 0 if not held */
    {
        return uvzk_hold_token(native());
    }
    std::uint32_t cohort() const noexcept /* as uvzk_hold_cohort */
    {
        return uvzk_hold_cohort(native());
    }
    std::string_view path() const noexcept /* of its znode; empty if not held */
    {
        const char *path = uvzk_hold_path(native());
        return path == nullptr ? std::string_view() : path;
    }
    std::uint32_t node_count() const noexcept
    {
        return uvzk_hold_node_count(native());
    }
    status return_leases(std::uint32_t leases) noexcept
    {
        return uvzk_hold_return_leases(native(), leases);
    }

    /* The reason of the loss of the hold; 0: it was not lost. */
    status lost() const noexcept
    {
        return call_ ? call_->lost : 0;
    }
    /* Calls callable(status) if the hold is lost, instead of the options' `lost`. If
     * on_lost() returns an error, callable is never called: the reason if the hold is
     * lost already, UVZK_ENOTHELD if it is empty, UV_ENOMEM. */
    status on_lost(function<void(status)> callable) noexcept
    {
        if (callable.no_memory()) {
            return UV_ENOMEM;
        }
        if (!call_ || call_->lost != 0) {
            return call_ ? call_->lost : UVZK_ENOTHELD;
        }
        call_->on_lost = std::move(callable);
        return 0;
    }

    /* Releases the lock; the hold object is then empty. The future receives the outcome,
     * as in uvzk_hold_release_cb. The lock is released even if the future is ignored. */
    future<void> release() noexcept
    {
        hold ends(std::move(*this)); /* its destructor stops on_lost and releases */
        uvzk_hold_t *of = ends.native();
        if (of == nullptr) {
            return detail::access::refused<void>(ends.not_held());
        }
        return detail::future_of<void>([of](uvzk_future_t *c) {
            int status = uvzk_hold_release(of, nullptr);
            return status != 0 ? status : uvzk_future_end(c, of);
        });
    }
    /* As in uvzk.h. Refused if it is not held, with the reason if it was lost. */
    future<void> verify() noexcept
    {
        return detail::ask<uvzk_hold_verify>(native(), not_held());
    }
    future<void> write(const uvzk_write_op_t *ops, std::size_t count) noexcept
    {
        return detail::ask<uvzk_hold_write>(native(), not_held(), ops, count);
    }

    uvzk_hold_t *native() const noexcept /* NULL if not held */
    {
        return call_ ? uvzk_future_hold(&call_->c) : nullptr;
    }

  private:
    int not_held() const noexcept
    {
        return lost() ? UVZK_ENOTHELD : lost().code();
    }

    detail::owned<detail::call, &detail::call::give_back> call_;
};

/* -------------------------------------------------------------- results of reads */

/* The contenders' znodes in queue order, as uvzk_lock_participants. */
class participants {
  public:
    explicit participants(detail::call_ref call) noexcept : call_(std::move(call))
    {
        if (const uvzk_result_t *found = detail::result_of(call_)) {
            paths_ = found->paths;
            size_ = found->count;
            holding_ = found->holding;
        }
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    std::size_t holding() const noexcept /* how many, from the first on, hold */
    {
        return holding_;
    }
    std::string_view operator[](std::size_t index) const noexcept
    {
        return paths_[index];
    }

  private:
    detail::call_ref call_;
    const char *const *paths_ = nullptr;
    std::size_t size_ = 0, holding_ = 0;
};

/* The data of a znode, and its stat. */
class znode {
  public:
    explicit znode(detail::call_ref call) noexcept : call_(std::move(call))
    {
    }
    uvzk_stat_t stat() const noexcept
    {
        return *detail::result_of(call_)->stat;
    }
    std::string_view view() const noexcept
    {
        const uvzk_result_t *found = detail::result_of(call_);
        return std::string_view(static_cast<const char *>(found->data), found->length);
    }

  private:
    detail::call_ref call_;
};

/* ------------------------------------------------------------------------ locks */

/* uvzk_traceparent_of: a part of the data; empty if it has none. */
inline std::string_view traceparent_of(std::string_view data) noexcept
{
    char text[UVZK_TRACEPARENT_SIZE];

    return uvzk_traceparent_of(data.data(), data.size(), text) != 0
               ? data.substr(data.size() - (sizeof(text) - 1))
               : std::string_view();
}

/* The options of an acquire; each field as in uvzk_acquire_options_t. */
struct acquire_options {
    milliseconds timeout = forever; /* or once: do not wait */
    void *owner = nullptr;
    std::uint32_t leases = 1;
    std::string_view data = {};                /* of the znode; default: the client's */
    function<void(std::uint64_t)> queued = {}; /* how many contenders are ahead */
    function<void(status)> lost = {};          /* may be set later by hold::on_lost */
    function<void()> revoke = {};              /* another client asks for a release */
    std::string_view traceparent = {};         /* W3C trace context; default: none */
    milliseconds max_hold{0}; /* 0: the lock's default (set_max_hold); or unlimited */
    milliseconds max_hold_warning{0};                 /* 0: the default */
    function<void(std::uint64_t)> max_hold_ends = {}; /* the end is near: when */
};

namespace detail {

struct lock_pair;

struct lock_state final : owned_state<lock_state, uvzk_lock_t, uvzk_lock_close> {
    uvzk_lock_t &c;
    lock_pair &pair;

    lock_state(uvzk_lock_t &native, lock_pair &in) noexcept : c(native), pair(in)
    {
    }
    void free() noexcept;
};

/* The locks of a read-write lock; any other lock is `read`. A multi lock keeps its
 * parts. */
struct lock_pair {
    uvzk_rwlock_t both{};
    lock_state read{both.read, *this}, write{both.write, *this};
    unsigned open = 1; /* open locks, and multi locks that have them as members */
    std::unique_ptr<lock_pair *[]> members;
    std::size_t member_count = 0;

    ~lock_pair()
    {
        for (std::size_t i = 0; i < member_count; i++) {
            members[i]->forget();
        }
    }
    void keep(std::unique_ptr<lock_pair *[]> others, std::size_t count) noexcept
    {
        members = std::move(others);
        member_count = count;
        for (std::size_t i = 0; i < count; i++) {
            members[i]->open++;
        }
    }
    void forget() noexcept
    {
        if (--open == 0) {
            delete this;
        }
    }
};

inline void lock_state::free() noexcept
{
    pair.forget();
}

} // namespace detail

class lock : public detail::owner<detail::lock_state> {
  public:
    using owner::owner;

    [[nodiscard]] future<hold> acquire(acquire_options options) noexcept
    {
        if (state_ == nullptr) {
            return detail::access::refused<hold>(UVZK_ECLOSED);
        }
        if (options.queued.no_memory() || options.lost.no_memory() ||
            options.revoke.no_memory() || options.max_hold_ends.no_memory()) {
            return detail::access::refused<hold>(UV_ENOMEM);
        }
        uvzk_acquire_options_t how;
        uvzk_acquire_options_init(&how);
        how.owner = options.owner;
        how.timeout_ms = options.timeout.count();
        how.leases = options.leases;
        how.node_data = options.data.data();
        how.node_data_length = options.data.size();
        /* A text of another length is none: the acquire refuses it. */
        char traceparent[UVZK_TRACEPARENT_SIZE] = "";
        if (options.traceparent.size() == sizeof(traceparent) - 1) {
            options.traceparent.copy(traceparent, sizeof(traceparent) - 1);
        }
        how.traceparent = options.traceparent.empty() ? nullptr : traceparent;
        if (options.queued) {
            how.queued_cb = detail::call::tell<&detail::call::on_queued>;
        }
        if (options.revoke) {
            how.revoke_cb = detail::call::tell<&detail::call::on_revoke>;
        }
        how.max_hold_ms = options.max_hold.count();
        how.max_hold_warning_ms =
            static_cast<std::uint64_t>(options.max_hold_warning.count());
        if (options.max_hold_ends) {
            how.max_hold_cb = detail::call::tell<&detail::call::on_max_hold>;
        }
        return detail::future_of<hold>([&](uvzk_future_t *c) {
            auto *call = static_cast<detail::call *>(c->data);
            call->on_queued = std::move(options.queued);
            call->on_lost = std::move(options.lost);
            call->on_revoke = std::move(options.revoke);
            call->on_max_hold = std::move(options.max_hold_ends);
            return uvzk_lock_acquire_future(&state_->c, c, &how, detail::call::tell_lost);
        });
    }
    [[nodiscard]] future<hold> acquire(milliseconds timeout = forever) noexcept
    {
        acquire_options options;
        options.timeout = timeout;
        return acquire(std::move(options));
    }

    /* uvzk_lock_set_max_hold. UV_EINVAL: also times that it cannot have. */
    status set_max_hold(milliseconds max_hold,
                        milliseconds warning = milliseconds(0)) noexcept
    {
        const auto longest = std::chrono::milliseconds(UINT32_MAX);

        if (max_hold < milliseconds(0) || max_hold > longest ||
            warning < milliseconds(0) || warning > longest) {
            return UV_EINVAL;
        }
        return uvzk_lock_set_max_hold(native_if(),
                                      static_cast<std::uint32_t>(max_hold.count()),
                                      static_cast<std::uint32_t>(warning.count()));
    }
    bool is_held() const noexcept
    {
        return uvzk_lock_is_held(native_if()) != 0;
    }
    bool is_held_by(const void *owner) const noexcept
    {
        return uvzk_lock_is_held_by(native_if(), owner) != 0;
    }
    future<uvzk::participants> participants() noexcept
    {
        return detail::ask<uvzk_lock_participants, uvzk::participants>(native_if(),
                                                                       UV_EINVAL);
    }
};

struct rwlock {
    lock read, write;
};

/* ---------------------------------------------------------------- shared values */

using value_version = uvzk_value_version_t;

/* A value, and the version that try_set takes. */
template <class T> struct versioned_value {
    T value;
    value_version version;
};

namespace detail {

/* A shared value in its client's list: the client ends next_change() when it closes. */
class value_in_client {
  public:
    void join(value_in_client *&list) noexcept
    {
        next_ = std::exchange(list, this);
        place_ = &list;
        if (next_ != nullptr) {
            next_->place_ = &next_;
        }
    }
    void leave() noexcept
    {
        if (place_ != nullptr) {
            *place_ = next_;
            if (next_ != nullptr) {
                next_->place_ = place_;
            }
            place_ = nullptr;
        }
    }

    ending change; /* the future of next_change() */

  protected:
    ~value_in_client()
    {
        leave();
    }

  private:
    value_in_client *next_ = nullptr;
    value_in_client **place_ = nullptr; /* what points to it; NULL: in no list */
};

/* The C functions for a shared value, and for a shared count. */
struct value_calls {
    using native = uvzk_shared_value_t;
    using value = std::string_view;
    using on_change = function<void(status)>;
    static constexpr auto close = uvzk_shared_value_close;

    static int init(uvzk_client_t *client, native *c, const char *path, value seed,
                    uvzk_shared_value_change_cb cb) noexcept
    {
        return uvzk_shared_value_init(client, c, path, seed.data(), seed.size(), cb);
    }
    static int get(const native *c, versioned_value<value> &into) noexcept
    {
        const void *data = nullptr;
        std::size_t length = 0;
        int status = uvzk_shared_value_get(c, &data, &length, &into.version);
        if (status == 0 && length > 0) {
            into.value = value(static_cast<const char *>(data), length);
        }
        return status;
    }
    static future<void> set(native *c, value to) noexcept
    {
        return ask<uvzk_shared_value_set>(c, UVZK_ECLOSED, to.data(), to.size());
    }
    static future<void> try_set(native *c, const value_version &version,
                                value to) noexcept
    {
        return ask<uvzk_shared_value_try_set>(c, UVZK_ECLOSED, &version, to.data(),
                                              to.size());
    }
};
struct count_calls {
    using native = uvzk_shared_count_t;
    using value = std::int32_t;
    using on_change = function<void(status, std::int32_t)>;
    static constexpr auto init = uvzk_shared_count_init;
    static constexpr auto close = uvzk_shared_count_close;

    static int get(const native *c, versioned_value<value> &into) noexcept
    {
        return uvzk_shared_count_get(c, &into.value, &into.version);
    }
    static future<void> set(native *c, value to) noexcept
    {
        return ask<uvzk_shared_count_set>(c, UVZK_ECLOSED, to);
    }
    static future<void> try_set(native *c, const value_version &version,
                                value to) noexcept
    {
        return ask<uvzk_shared_count_try_set>(c, UVZK_ECLOSED, &version, to);
    }
};

template <class Calls>
struct value_state final
    : value_in_client,
      owned_state<value_state<Calls>, typename Calls::native, Calls::close> {
    typename Calls::native c{};
    typename Calls::on_change on_change;

    bool is_closed() const noexcept
    {
        versioned_value<typename Calls::value> known{};
        return Calls::get(&c, known) == UVZK_ECLOSED;
    }
    /* on_change may close the value, but it is freed later. The future is taken first: a
     * next_change() that on_change calls waits for the change after this one. */
    template <class... Count>
    static void changed(typename Calls::native *c, int how, Count... count) noexcept
    {
        value_state &self = value_state::of(c);
        call_ref waits = self.change.take();
        if (self.on_change) {
            self.on_change(status(how), count...);
        }
        if (waits) { /* on_change may have closed the value */
            waits->done(self.is_closed() ? UVZK_ECLOSED : how);
        }
    }
    void end(int how) noexcept
    {
        if (call_ref waits = change.take()) {
            waits->done(UVZK_ECLOSED);
        }
        value_state::owned_state::end(how);
    }
};

} // namespace detail

/* A value that several clients share, as in uvzk.h: shared_value, shared_count below. */
template <class Calls>
class basic_shared_value : public detail::owner<detail::value_state<Calls>> {
    using base = detail::owner<detail::value_state<Calls>>;
    using base::state_;

  public:
    using base::base;
    using calls = Calls;
    using value_type = typename Calls::value; /* std::string_view; std::int32_t */

    /* As uvzk_shared_value_get. The data of a shared_value are valid until the caller
     * returns to the loop: in a coroutine, until the next co_await that waits. */
    result<versioned_value<value_type>> get() const noexcept
    {
        if (state_ == nullptr) {
            return UVZK_ECLOSED;
        }
        versioned_value<value_type> known{};
        int status = Calls::get(&state_->c, known);
        if (status != 0) {
            return status;
        }
        return known;
    }
    /* As uvzk_shared_value_set; carried out even if the future is ignored. */
    future<void> set(value_type to) noexcept
    {
        return Calls::set(base::native_if(), to);
    }
    /* As uvzk_shared_value_try_set, with the version that get() returned. */
    future<void> try_set(const value_version &version, value_type to) noexcept
    {
        return Calls::try_set(base::native_if(), version, to);
    }
    /* Done at the next change, the first value included, with the status that the
     * callback receives: 0: get() returns a new value, or can read the value again;
     * otherwise a code of uvzk_shared_value_change_cb. Changes between two calls are not
     * kept: call get() first, then wait. UVZK_ECLOSED: the value or its client is closed.
     * Refused with UV_EBUSY: another future of a change is pending; UV_ENOMEM. */
    [[nodiscard]] future<void> next_change() noexcept
    {
        if (state_ == nullptr || state_->is_closed()) {
            return detail::access::refused<void>(UVZK_ECLOSED);
        }
        if (state_->change.is_expected()) {
            return detail::access::refused<void>(UV_EBUSY);
        }
        return detail::ended_by(state_->change);
    }
};

using shared_value = basic_shared_value<detail::value_calls>;
using shared_count = basic_shared_value<detail::count_calls>;

/* --------------------------------------------------------------------- barriers */

/* A barrier, as uvzk_barrier_t. It stays set or removed when the object is closed. */
class barrier : public detail::owner<detail::barrier_state> {
  public:
    using owner::owner;

    /* Set the barrier, or remove it; carried out even if the future is ignored. */
    future<void> set() noexcept
    {
        return asked<uvzk_barrier_set>();
    }
    future<void> remove() noexcept
    {
        return asked<uvzk_barrier_remove>();
    }
    /* As uvzk_barrier_wait. Destroying the pending future cancels the wait. */
    [[nodiscard]] future<void> wait(milliseconds timeout = forever) noexcept
    {
        return asked<uvzk_barrier_wait>(std::int64_t(timeout.count()));
    }
};

/* One member of a double barrier. Its close leaves without waiting for the others. */
class double_barrier : public detail::owner<detail::double_barrier_state> {
  public:
    using owner::owner;

    /* As uvzk_double_barrier_enter. Destroying the pending future cancels the enter, or
     * the wait for the others: this member is then outside. */
    [[nodiscard]] future<void> enter(milliseconds timeout = forever) noexcept
    {
        return asked<uvzk_double_barrier_enter>(std::int64_t(timeout.count()));
    }
    [[nodiscard]] future<void> leave(milliseconds timeout = forever) noexcept
    {
        return asked<uvzk_double_barrier_leave>(std::int64_t(timeout.count()));
    }
};

/* ------------------------------------------------------------------ atomic long */

/* What a call on an atomic long found and did. */
class atomic_value {
  public:
    explicit atomic_value(const detail::call_ref &call) noexcept
    {
        if (const uvzk_result_t *found = detail::result_of(call)) {
            c = *found->value;
        }
    }
    std::int64_t before() const noexcept /* what the call has replaced */
    {
        return c.pre_value;
    }
    std::int64_t after() const noexcept
    {
        return c.post_value;
    }
    uvzk_atomic_value_t c = {}; /* all of it, as in uvzk.h */
};

struct atomic_long_options {
    atomic_long_options() noexcept
    {
        uvzk_atomic_long_options_init(&c);
    }
    std::string_view mutex_path;  /* empty: no promoted phase */
    uvzk_atomic_long_options_t c; /* all other options; that above is ignored */
};

/* A number of 64 bits that all clients may change, as uvzk_atomic_long_t. The outcome of
 * each call is as in uvzk_req_cb; a change is made even if the future is ignored. */
class atomic_long : public detail::owner<detail::atomic_long_state> {
  public:
    using owner::owner;

    /* The value, which may be older than the newest; add(0) returns the newest. */
    future<atomic_value> get() noexcept
    {
        return asked<uvzk_atomic_long_get, atomic_value>();
    }
    /* delta may be negative. UV_ERANGE: the sum does not fit in 64 bits. */
    future<atomic_value> add(std::int64_t delta) noexcept
    {
        return asked<uvzk_atomic_long_add, atomic_value>(delta);
    }
    /* In one try. UVZK_EBADVERSION: the value is not the expected one. */
    future<atomic_value> compare_and_set(std::int64_t expected,
                                         std::int64_t value) noexcept
    {
        return asked<uvzk_atomic_long_compare_and_set, atomic_value>(expected, value);
    }
    future<atomic_value> try_set(std::int64_t value) noexcept
    {
        return asked<uvzk_atomic_long_try_set, atomic_value>(value);
    }
    future<atomic_value> force_set(std::int64_t value) noexcept
    {
        return asked<uvzk_atomic_long_force_set, atomic_value>(value);
    }
    future<atomic_value> create(std::int64_t value) noexcept
    {
        return asked<uvzk_atomic_long_create, atomic_value>(value);
    }
};

/* --------------------------------------------------------------------- elections */

/* A participant of an election, as uvzk_election_participant_t. */
struct election_participant {
    std::string_view id; /* empty: none */
    bool is_leader;
    std::int64_t token, session_id;
    std::string_view path; /* of its znode */
};

/* The options of an election; each field as in uvzk_election_options_t. The callables
 * must not destroy themselves, but may destroy the election. */
struct election_options {
    uvzk_election_kind_t kind = UVZK_ELECTION_LATCH;
    std::string_view id = {}; /* default: none */
    milliseconds max_reign{0};
    bool manual_requeue = false;
    /* This participant leads from now on: its token, and valid_until(). */
    function<void(std::int64_t, clock::time_point)> leads = {};
    function<void(status)> deposed = {}; /* it no longer leads: the reason */
    /* Another participant leads; NULL: none is known. Valid during the call. */
    function<void(const election_participant *)> changed = {};
    function<void(status)> refused = {}; /* error_cb */
};

namespace detail {

inline election_participant participant_of(const uvzk_election_participant_t &c) noexcept
{
    return {std::string_view(c.id, c.id_length), c.is_leader != 0, c.token, c.session_id,
            c.path};
}

inline int close_election(uvzk_election_t *c, uvzk_election_close_cb cb) noexcept;

struct election_state final
    : owned_state<election_state, uvzk_election_t, close_election>,
      election_options {
    uvzk_election_t c{};
    uvzk_election_close_mode_t mode = UVZK_ELECTION_SILENT; /* of the close */

    void drop() noexcept
    {
        mode = UVZK_ELECTION_SILENT; /* another close may have been refused */
        begin_close();
    }
    static void tell_leads(uvzk_election_t *c, std::int64_t token,
                           std::uint64_t valid_until) noexcept
    {
        of(c).leads(token, clock::at(valid_until));
    }
    static void tell_changed(uvzk_election_t *c,
                             const uvzk_election_participant_t *leader) noexcept
    {
        const election_participant known =
            leader == nullptr ? election_participant{} : participant_of(*leader);
        of(c).changed(leader == nullptr ? nullptr : &known);
    }
    int begin(uvzk_client_t *client, const char *path) noexcept
    {
        uvzk_election_options_t how;
        uvzk_election_options_init(&how);
        how.kind = static_cast<std::uint32_t>(kind);
        how.manual_requeue = manual_requeue ? 1 : 0;
        /* With the length 0 the library would read a C string. */
        how.id = id.empty() && id.data() != nullptr ? "" : id.data();
        how.id_length = id.size();
        how.max_reign_ms = static_cast<std::uint64_t>(max_reign.count());
        how.leader_cb = leads ? tell_leads : nullptr;
        if (deposed) {
            how.deposed_cb = tell<&election_options::deposed>;
        }
        how.changed_cb = changed ? tell_changed : nullptr;
        if (refused) {
            how.error_cb = tell<&election_options::refused>;
        }
        int status = uvzk_election_init(client, &c, path, &how);
        id = {}; /* the library has copied it */
        return status;
    }
};

inline int close_election(uvzk_election_t *c, uvzk_election_close_cb cb) noexcept
{
    return uvzk_election_close(c, election_state::of(c).mode, cb);
}

} // namespace detail

/* The participants of an election in the order of the queue, the leader first. */
class election_participants {
  public:
    explicit election_participants(detail::call_ref call) noexcept
        : call_(std::move(call))
    {
        if (const uvzk_result_t *found = detail::result_of(call_)) {
            participants_ = found->participants;
            size_ = found->count;
        }
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    /* Its texts are valid as long as this object. */
    election_participant operator[](std::size_t index) const noexcept
    {
        return detail::participant_of(*participants_[index]);
    }

  private:
    detail::call_ref call_;
    const uvzk_election_participant_t *const *participants_ = nullptr;
    std::size_t size_ = 0;
};

/* A participant of an election (LeaderLatch, LeaderSelector), as uvzk_election_t:
 *
 *     uvzk::status leads = co_await election.lead();
 *     while (leads) { // until the election or its client is closed
 *         ... work, as long as election.is_leader(); then election.resign();
 *         leads = co_await election.lead();
 *     } */
class election : public detail::owner<detail::election_state> {
  public:
    using owner::owner;

    /* As uvzk_election_lead_future. It may be deposed soon: call is_leader(). */
    [[nodiscard]] future<void> lead() noexcept
    {
        if (state_ == nullptr) {
            return detail::access::refused<void>(UVZK_ECLOSED);
        }
        return detail::future_of<void>([this](uvzk_future_t *c) {
            return uvzk_election_lead_future(&state_->c, c);
        });
    }
    future<election_participants> participants() noexcept
    {
        return asked<uvzk_election_participants, election_participants>();
    }
    status resign() noexcept
    {
        return state_ == nullptr ? UVZK_ECLOSED : uvzk_election_resign(&state_->c);
    }
    status requeue() noexcept
    {
        return state_ == nullptr ? UVZK_ECLOSED : uvzk_election_requeue(&state_->c);
    }

    /* The facts of this leader; false, 0, the clock's epoch, "" if it does not lead. */
    bool is_leader() const noexcept
    {
        return uvzk_election_is_leader(native_if()) != 0;
    }
    std::int64_t token() const noexcept
    {
        return uvzk_election_token(native_if());
    }
    clock::time_point valid_until() const noexcept
    {
        return clock::at(uvzk_election_valid_until(native_if()));
    }
    std::string_view path() const noexcept /* of its znode */
    {
        const char *path = uvzk_hold_path(native_hold());
        return path == nullptr ? std::string_view() : path;
    }
    /* As those of a hold. Refused with UVZK_ENOTHELD if it does not lead. */
    future<void> verify() noexcept
    {
        return detail::ask<uvzk_hold_verify>(native_hold(), UVZK_ENOTHELD);
    }
    future<void> write(const uvzk_write_op_t *ops, std::size_t count) noexcept
    {
        return detail::ask<uvzk_hold_write>(native_hold(), UVZK_ENOTHELD, ops, count);
    }
    uvzk_hold_t *native_hold() const noexcept /* NULL if it does not lead */
    {
        return uvzk_election_hold(native_if());
    }

    /* As the other objects' close(). UVZK_ELECTION_NOTIFY calls `deposed`. */
    future<void> close(uvzk_election_close_mode_t mode = UVZK_ELECTION_SILENT) noexcept
    {
        if (state_ != nullptr) {
            state_->mode = mode;
        }
        return owner::close();
    }
};

/* -------------------------------------------------------------- persistent node */

/* A znode that exists as long as the object, as uvzk_persistent_node_t. */
class persistent_node : public detail::owner<detail::persistent_node_state> {
  public:
    using owner::owner;

    /* Sets the data, as uvzk_persistent_node_set_data. */
    status set_data(std::string_view data) noexcept
    {
        auto set = uvzk_persistent_node_set_data;
        return state_ ? set(&state_->c, data.data(), data.size()) : UVZK_ECLOSED;
    }
};

/* ----------------------------------------------------------------- group member */

/* One member of a group, as uvzk_group_entry_t. */
struct group_entry {
    std::string_view id;
    std::string_view data; /* empty and NULL: not known */
    std::int64_t mzxid;
};

/* The members of a group as they were known when this object was made, in the order of
 * their ids. The texts are valid as long as those of uvzk_group_member_list. */
class group_members {
  public:
    explicit group_members(const uvzk_group_member_t &of) noexcept
    {
        how_ = uvzk_group_member_list(&of, &entries_, &size_);
    }
    /* 0, or UVZK_ECLOSED; then it is empty. */
    uvzk::status status() const noexcept
    {
        return uvzk::status(how_);
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    group_entry operator[](std::size_t index) const noexcept
    {
        const uvzk_group_entry_t &entry = entries_[index];
        return {entry.id,
                std::string_view(static_cast<const char *>(entry.data), entry.length),
                entry.mzxid};
    }

  private:
    const uvzk_group_entry_t *entries_ = nullptr;
    std::size_t size_ = 0;
    int how_ = 0;
};

/* A member of a group, and the list of all members, as uvzk_group_member_t. */
class group_member : public detail::owner<detail::group_member_state> {
  public:
    using owner::owner;

    /* Sets the data, as uvzk_group_member_set_data. */
    status set_data(std::string_view data) noexcept
    {
        auto set = uvzk_group_member_set_data;
        return state_ ? set(&state_->c, data.data(), data.size()) : UVZK_ECLOSED;
    }
    /* The members that are known now. An empty one lists none. */
    group_members members() const noexcept
    {
        static const uvzk_group_member_t closed{};
        return group_members(state_ == nullptr ? closed : state_->c);
    }
};

/* ----------------------------------------------------------------------- client */

namespace detail {

/* Frees the texts that options set by name refer to (uvzk_client_options_t::copies). */
struct frees_copies {
    void operator()(void *copies) const noexcept
    {
        uvzk_client_options_t c;
        uvzk_client_options_init(&c);
        c.copies = copies;
        uvzk_client_options_free(&c);
    }
};

struct client_state final : owned_state<client_state, uvzk_client_t, uvzk_client_close> {
    uvzk_client_t c{};
    function<void(uvzk_client_state_t)> state;
    function<void(int, std::string_view, std::string_view)> log;
    value_in_client *values = nullptr; /* that are not closed */
    bool silent = false; /* the client object was destroyed: no more callbacks */

    static void tell_state(uvzk_client_t *client, uvzk_client_state_t now) noexcept
    {
        if (!of(client).silent) {
            of(client).state(now);
        }
    }
    static void tell_log(uvzk_client_t *client, int level, const char *module,
                         const char *text) noexcept
    {
        if (!of(client).silent) {
            of(client).log(level, module, text);
        }
    }
    void drop() noexcept
    {
        silent = true;
        begin_close();
    }
    void end(int how) noexcept
    {
        while (values != nullptr) {
            value_in_client *value = values;
            value->leave();
            if (call_ref waits = value->change.take()) {
                waits->done(UVZK_ECLOSED); /* may free the value, and others */
            }
        }
        owned_state::end(how);
    }
};

} // namespace detail

struct client_options {
    client_options() noexcept
    {
        uvzk_client_options_init(&c);
    }
    /* As uvzk_client_options_set and _parse. Valid as long as this object. */
    uvzk::status set(std::string_view name, std::string_view value) noexcept
    {
        return set_by(uvzk_client_options_set, detail::text(name), detail::text(value));
    }
    uvzk::status parse(std::string_view text) noexcept
    {
        return set_by(uvzk_client_options_parse, detail::text(text));
    }
    std::string_view hosts;
    milliseconds session_timeout{0};
    std::string_view ns;          /* the namespace */
    std::string_view auth_scheme; /* "digest", ... */
    std::string_view auth;
    function<void(client_state)> state;
    /* level, the part of the client that wrote the line, its text */
    function<void(int, std::string_view, std::string_view)> log;
    uvzk_client_options_t c; /* all other options; those above are ignored */

  private:
    /* Moves what has been set to the members that replace fields of `c`. */
    template <class Set, class... Text>
    uvzk::status set_by(Set set_option, const Text &...texts) noexcept
    {
        int status = 0;
        ((status = status != 0 ? status : texts.status()), ...);
        if (status != 0) {
            return status;
        }
        c.hosts = c.ns = c.auth_scheme = nullptr;
        c.auth = nullptr;
        c.session_timeout_ms = 0;
        void *others = std::exchange(c.copies, copies_.release());
        status = set_option(&c, texts.c_str()...);
        copies_.reset(std::exchange(c.copies, others));
        if (status < 0) {
            return status;
        }
        take(hosts, c.hosts);
        take(ns, c.ns);
        take(auth_scheme, c.auth_scheme);
        if (c.auth != nullptr) {
            auth = {static_cast<const char *>(c.auth), c.auth_length};
        }
        if (c.session_timeout_ms != 0) {
            session_timeout = milliseconds(c.session_timeout_ms);
        }
        return 0;
    }
    static void take(std::string_view &member, const char *field) noexcept
    {
        if (field != nullptr) {
            member = field;
        }
    }

    std::unique_ptr<void, detail::frees_copies> copies_;
};

class client : public detail::owner<detail::client_state> {
  public:
    using owner::owner;

    /* Initialises and starts a client, as uvzk_client_init and uvzk_client_start. */
    static result<client> open(uv_loop_t *loop, client_options options) noexcept
    {
        if (options.state.no_memory() || options.log.no_memory()) {
            return UV_ENOMEM;
        }
        detail::text hosts(options.hosts), ns(options.ns), scheme(options.auth_scheme);
        for (const detail::text *text : {&hosts, &ns, &scheme}) {
            if (text->status() != 0) {
                return text->status();
            }
        }
        if (options.session_timeout.count() < 0 ||
            options.session_timeout.count() > INT32_MAX) {
            return UV_EINVAL;
        }
        uvzk_client_options_t &c = options.c;
        c.hosts = hosts.c_str();
        c.session_timeout_ms =
            static_cast<std::uint32_t>(options.session_timeout.count());
        c.ns = options.ns.empty() ? nullptr : ns.c_str();
        c.auth_scheme = options.auth_scheme.empty() ? nullptr : scheme.c_str();
        c.auth = options.auth.empty() ? nullptr : options.auth.data();
        c.auth_length = options.auth.size();
        c.state_cb = options.state ? detail::client_state::tell_state : nullptr;
        c.log_cb = options.log ? detail::client_state::tell_log : nullptr;

        std::unique_ptr<detail::client_state> state(new (std::nothrow)
                                                        detail::client_state);
        if (state == nullptr) {
            return UV_ENOMEM;
        }
        state->c.data = state.get();
        state->state = std::move(options.state);
        state->log = std::move(options.log);
        int status = uvzk_client_init(loop, &state->c, &c);
        if (status < 0) {
            return status;
        }
        client made(state.release());
        status = uvzk_client_start(&made.native());
        if (status < 0) {
            return status;
        }
        return made;
    }
    static result<client> open(uv_loop_t *loop, std::string_view hosts) noexcept
    {
        client_options options;
        options.hosts = hosts;
        return open(loop, std::move(options));
    }

    /* Make an object, as in uvzk.h; its callables may destroy it. */
    result<lock> mutex(std::string_view path) noexcept
    {
        return made_lock(path, uvzk_mutex_init);
    }
    result<lock> mutex_cohort(std::string_view path, std::uint32_t handovers,
                              std::uint32_t ms) noexcept
    {
        return made_lock(path, uvzk_mutex_init_with_cohort, handovers, ms);
    }
    result<lock> semaphore(std::string_view path, std::uint32_t max_leases,
                           uvzk_shared_count_t *count = nullptr) noexcept
    {
        return made_lock(path, uvzk_semaphore_init, max_leases, count);
    }
    /* The count is the number of leases; after its close UVZK_ECLOSED. */
    result<lock> semaphore(std::string_view path,
                           const uvzk::shared_count &count) noexcept
    {
        return semaphore(path, 0, count ? &count.native() : nullptr);
    }
    result<lock> semaphore_mutex(std::string_view path) noexcept
    {
        return made_lock(path, uvzk_semaphore_mutex_init);
    }
    /* If a member object is destroyed, later acquires fail with UVZK_ECLOSED, and a hold
     * whose members were acquired in turn is lost. */
    result<lock> multilock(lock *const *members, std::size_t count,
                           unsigned flags = 0) noexcept
    {
        std::unique_ptr<uvzk_lock_t *[]> named(new (std::nothrow)
                                                   uvzk_lock_t *[count + 1]);
        std::unique_ptr<detail::lock_pair *[]> states(new (std::nothrow)
                                                          detail::lock_pair *[count + 1]);
        if (named == nullptr || states == nullptr) {
            return UV_ENOMEM;
        }
        for (std::size_t i = 0; i < count; i++) {
            named[i] = members[i]->native_if();
            states[i] = *members[i] ? &members[i]->state_->pair : nullptr;
        }
        auto init = [&](uvzk_client_t *of, uvzk_lock_t *c, const char *) {
            return uvzk_multilock_init(of, c, named.get(), count, flags, nullptr);
        };
        result<lock> multi = made_lock("", init);
        if (multi) {
            multi->state_->pair.keep(std::move(states), count);
        }
        return multi;
    }
    result<lock> with_driver(std::string_view path,
                             const uvzk_lock_driver_t &driver) noexcept
    {
        return made_lock(path, uvzk_lock_init_with_driver, &driver);
    }
    result<uvzk::rwlock> rwlock(std::string_view path) noexcept
    {
        auto made = initialised<detail::lock_pair>(
            [this](detail::lock_pair &pair, const char *text) {
                return uvzk_rwlock_init(native_if(), &pair.both, text);
            },
            detail::text(path));
        if (!made) {
            return made.code();
        }
        detail::lock_pair *pair = made->release();
        pair->open = 2;
        return uvzk::rwlock{lock(&pair->read), lock(&pair->write)};
    }

    result<uvzk::shared_value> shared_value(std::string_view path, std::string_view seed,
                                            function<void(status)> changed = {}) noexcept
    {
        return made_value<uvzk::shared_value>(path, seed, std::move(changed));
    }
    result<uvzk::shared_count>
    shared_count(std::string_view path, std::int32_t seed,
                 function<void(status, std::int32_t)> changed = {}) noexcept
    {
        return made_value<uvzk::shared_count>(path, seed, std::move(changed));
    }

    result<uvzk::barrier> barrier(std::string_view path) noexcept
    {
        return made<uvzk::barrier>(
            [this](auto &state, const char *text) {
                return uvzk_barrier_init(native_if(), &state.c, text);
            },
            detail::text(path));
    }
    result<uvzk::double_barrier> double_barrier(std::string_view path,
                                                std::uint32_t member_quantity,
                                                function<void(status)> lost = {}) noexcept
    {
        using double_state = detail::double_barrier_state;
        if (lost.no_memory()) {
            return UV_ENOMEM;
        }
        return made<uvzk::double_barrier>(
            [&](double_state &state, const char *text) {
                state.on_change = std::move(lost);
                return uvzk_double_barrier_init(
                    native_if(), &state.c, text, member_quantity,
                    double_state::tell<&double_state::on_change>);
            },
            detail::text(path));
    }

    result<uvzk::atomic_long> atomic_long(std::string_view path,
                                          atomic_long_options options = {}) noexcept
    {
        return made<uvzk::atomic_long>(
            [&](auto &state, const char *text, const char *mutex) {
                options.c.mutex_path = options.mutex_path.empty() ? nullptr : mutex;
                return uvzk_atomic_long_init(native_if(), &state.c, text, &options.c);
            },
            detail::text(path), detail::text(options.mutex_path));
    }

    result<uvzk::election> election(std::string_view path,
                                    election_options options = {}) noexcept
    {
        if (options.leads.no_memory() || options.deposed.no_memory() ||
            options.changed.no_memory() || options.refused.no_memory()) {
            return UV_ENOMEM;
        }
        if (options.max_reign.count() < 0) {
            return UV_EINVAL;
        }
        return made<uvzk::election>(
            [&](detail::election_state &state, const char *text) {
                static_cast<election_options &>(state) = std::move(options);
                return state.begin(native_if(), text);
            },
            detail::text(path));
    }

    result<uvzk::persistent_node>
    persistent_node(std::string_view path, uvzk_persistent_node_mode_t mode,
                    std::string_view data, function<void(status)> changed = {}) noexcept
    {
        using node_state = detail::persistent_node_state;
        if (changed.no_memory()) {
            return UV_ENOMEM;
        }
        return made<uvzk::persistent_node>(
            [&](node_state &state, const char *text) {
                state.on_change = std::move(changed);
                return uvzk_persistent_node_init(
                    native_if(), &state.c, text, mode, data.data(), data.size(),
                    node_state::tell<&node_state::on_change>);
            },
            detail::text(path));
    }

    result<uvzk::group_member> group_member(std::string_view path, std::string_view id,
                                            std::string_view data,
                                            function<void(status)> joined = {},
                                            function<void(status)> changed = {}) noexcept
    {
        using member_state = detail::group_member_state;
        if (joined.no_memory() || changed.no_memory()) {
            return UV_ENOMEM;
        }
        return made<uvzk::group_member>(
            [&](member_state &state, const char *text, const char *name) {
                state.on_change = std::move(joined);
                state.on_members = std::move(changed);
                return uvzk_group_member_init(
                    native_if(), &state.c, text, name, data.data(), data.size(),
                    member_state::tell<&member_state::on_change>,
                    member_state::tell<&member_state::on_members>);
            },
            detail::text(path), detail::text(id));
    }

    /* Asks the owner of this znode to give it up, as uvzk_client_revoke does. */
    future<void> revoke(std::string_view node_path) noexcept
    {
        return asked<uvzk_client_revoke>(node_path);
    }
    future<znode> read(std::string_view node_path) noexcept
    {
        return asked<uvzk_client_read, znode>(node_path);
    }

    uvzk_client_state_t state() const noexcept
    {
        return uvzk_client_state(native_if());
    }
    std::int64_t session_id() const noexcept
    {
        return uvzk_client_session_id(native_if());
    }
    /* Valid until the caller returns to the loop; empty if there is no connection. */
    std::string_view current_server() const noexcept
    {
        const char *server = uvzk_client_current_server(native_if());
        return server == nullptr ? std::string_view() : server;
    }
    /* As its destructor, but its callbacks are still called. */
    using owner::close;

  private:
    static int path_error(const detail::text &text) noexcept
    {
        return text.status() == UV_EINVAL ? UVZK_EPATH : text.status();
    }
    /* A new state: init(state, texts...) calls the init function of C. */
    template <class State, class Init, class... Text>
    static result<std::unique_ptr<State>> initialised(Init init,
                                                      const Text &...texts) noexcept
    {
        std::unique_ptr<State> state(new (std::nothrow) State);
        int status = state == nullptr ? UV_ENOMEM : 0;
        ((status = status != 0 ? status : path_error(texts)), ...);
        if (status == 0) {
            status = init(*state, texts.c_str()...);
        }
        if (status != 0) {
            return status;
        }
        return state;
    }
    template <class Object, class Init, class... Text>
    static result<Object> made(Init init, const Text &...texts) noexcept
    {
        auto state = initialised<typename Object::state_type>(init, texts...);
        if (!state) {
            return state.code();
        }
        return Object(state->release());
    }
    template <class Init, class... Arguments>
    result<lock> made_lock(std::string_view path, Init init,
                           Arguments... arguments) noexcept
    {
        auto pair = initialised<detail::lock_pair>(
            [&](detail::lock_pair &made, const char *text) {
                return init(native_if(), &made.both.read, text, arguments...);
            },
            detail::text(path));
        if (!pair) {
            return pair.code();
        }
        return lock(&pair->release()->read);
    }
    template <class Value, class Seed, class Changed>
    result<Value> made_value(std::string_view path, Seed seed, Changed changed) noexcept
    {
        using value_state = typename Value::state_type;
        if (changed.no_memory()) {
            return UV_ENOMEM;
        }
        return made<Value>(
            [&](value_state &value, const char *text) {
                value.on_change = std::move(changed);
                int status = Value::calls::init(native_if(), &value.c, text, seed,
                                                value_state::changed);
                if (status == 0) {
                    value.join(state_->values);
                }
                return status;
            },
            detail::text(path));
    }
    template <auto Function, class T = void>
    future<T> asked(std::string_view node_path) noexcept
    {
        detail::text text(node_path);
        if (text.status() != 0) {
            return detail::access::refused<T>(path_error(text));
        }
        return detail::ask<Function, T>(native_if(), UV_EINVAL, text.c_str());
    }
};

/* -------------------------------------------------------------------- coroutines */

#ifdef UVZK_COROUTINES
namespace detail {

/* The T that a coroutine leaves to whoever awaits it. */
template <class T> struct task_value {
    std::optional<T> value;

    void return_value(T from)
    {
        value.emplace(std::move(from));
    }
    T take()
    {
        return std::move(*value);
    }
};
template <> struct task_value<void> {
    void return_void() noexcept
    {
    }
    void take() noexcept
    {
    }
};

} // namespace detail

/* A coroutine that returns a T. It starts when it is called, and may be awaited once:
 * std::int64_t mine = co_await token(lock). An exception that leaves it reaches whoever
 * awaits it, or, if nobody does, ends the program by std::terminate. A task that is
 * destroyed and was not awaited goes on, and frees itself at its end. A coroutine that is
 * destroyed while it awaits a task destroys the task's coroutine too.
 *
 * A task converts to false if its memory could not be allocated; then none of its code
 * has run. To await it yields UV_ENOMEM if T can be made of a status. Otherwise it throws
 * std::bad_alloc, or without exceptions ends the program. */
template <class T = void> class task {
  public:
    struct promise_type : detail::task_value<T> {
        std::coroutine_handle<> waits; /* who awaits it */
        std::exception_ptr thrown;
        bool kept = true; /* the task object exists */

        task get_return_object() noexcept
        {
            return task(this);
        }
        static task get_return_object_on_allocation_failure() noexcept
        {
            return task();
        }
        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }
        auto final_suspend() noexcept
        {
            struct last : std::suspend_always {
                bool kept;
                std::coroutine_handle<> next;

                bool await_ready() const noexcept /* true: the coroutine frees itself */
                {
                    return !kept;
                }
                std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept
                {
                    return next;
                }
            };
            return last{{}, kept, waits ? waits : std::noop_coroutine()};
        }
        void unhandled_exception() noexcept
        {
            thrown = std::current_exception();
            if (!kept) {
                std::terminate();
            }
        }
        auto frame() noexcept
        {
            return std::coroutine_handle<promise_type>::from_promise(*this);
        }
        void let_go() noexcept
        {
            if (thrown) {
                std::terminate();
            } else if (waits || frame().done()) {
                frame().destroy();
            } else {
                kept = false;
            }
        }
    };

    task() noexcept = default; /* empty */
    explicit operator bool() const noexcept
    {
        return promise_ != nullptr;
    }
    auto operator co_await() &&noexcept
    {
        struct awaiter {
            task of;

            bool await_ready() const noexcept
            {
                return !of || of.promise_->frame().done();
            }
            void await_suspend(std::coroutine_handle<> waits) noexcept
            {
                of.promise_->waits = waits;
            }
            T await_resume()
            {
                if (!of) {
                    if constexpr (std::is_convertible_v<status, T>) {
                        return status(UV_ENOMEM);
                    }
#ifdef __cpp_exceptions
                    throw std::bad_alloc();
#endif
                    std::terminate();
                }
                if (of.promise_->thrown) {
                    std::rethrow_exception(std::exchange(of.promise_->thrown, nullptr));
                }
                return of.promise_->take();
            }
        };
        return awaiter{std::move(*this)};
    }

  private:
    explicit task(promise_type *promise) noexcept : promise_(promise)
    {
    }
    detail::owned<promise_type, &promise_type::let_go> promise_;
};
#endif

} // namespace uvzk

#endif /* UVZK_HPP */
