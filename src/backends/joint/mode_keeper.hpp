// Reads the mode of a group from the arbiter, again and again, and proposes changes of it.
#pragma once

#include "backends/joint/mode.hpp"
#include "base/annotations.hpp"
#include "io/reactor.hpp"
#include "store/linearizable_register.hpp"

#include <functional>
#include <memory>
#include <string>

namespace holdfast::joint_backend {

[[nodiscard]] inline backend::failure closing() { return {make_error_code(errc::closed), {}, {}}; }

struct confirmed_mode {
    mode_record what;
    time_point asked;  // true at some moment since then
};

struct mode_keeper_tools {
    io::reactor& reactor;
    // The arbiter, used until close(); nullptr: the mode is pinned.
    backend::linearizable_register* in;
    needed_levels pinned;  // empty: the arbiter decides
    std::string name;      // of the register
    std::string agreed;
    std::size_t levels;
    milliseconds mode_lease;
    milliseconds max_skew;
    milliseconds answer_timeout;
    engine::clock_margin margin;
    // On the reactor's thread.
    std::function<void(const confirmed_mode&)> confirmed;
    std::function<void(const backend::failure&)> failed;
    std::function<void()> unused;  // the arbiter answers, and the group has no mode yet
};

// Thread-safe. What it does runs on the reactor's thread.
class mode_keeper : public std::enable_shared_from_this<mode_keeper> {
  public:
    explicit mode_keeper(mode_keeper_tools with) : with_(std::move(with)) {}

    void begin() { ask_at(boot_clock::now()); }
    // On the reactor's thread: nothing is called or used afterwards.
    void close();

    // Somebody wants a lock: from now on the first mode of a group that has none is written. A client that
    // only looks writes nothing.
    void need();

    // Reads the mode now. Epoch 0: the group has none yet, and would begin with this one.
    void read(time_point deadline, backend::handler<backend::result<confirmed_mode>> done);

    // One step to `to`, from the mode with this epoch. Refused with errc::busy_server and the time that is
    // left while the mode between must last longer, and with errc::lost if another client was faster.
    void change(std::uint64_t from_epoch, needed_levels to, change_signature by, changed_by how,
                time_point deadline, backend::handler<backend::result<confirmed_mode>> done);
    // The mode with two levels, with this epoch, is to stay. Refused as change() is.
    void settle(std::uint64_t epoch, change_signature by, time_point deadline,
                backend::handler<backend::result<confirmed_mode>> done);
    // From now on clients change the mode by themselves, or not any more.
    void automate(bool on, change_signature by, time_point deadline,
                  backend::handler<backend::result<confirmed_mode>> done);

    // As last confirmed; empty while none was.
    [[nodiscard]] std::optional<mode_record> known() const;

    // How long until change() may leave the present mode for one with a single level.
    [[nodiscard]] boot_clock::duration must_last() const;

  private:
    using answer = backend::result<confirmed_mode>;

    void ask_at(time_point when);
    void ask();
    void send_read(time_point deadline, backend::handler<answer> done);
    void on_read(const backend::result<backend::register_value>& got, time_point asked, time_point deadline,
                 backend::handler<answer> done);
    void fail(const backend::failure& why, const backend::handler<answer>& done);
    // Also of a group that has no mode yet.
    [[nodiscard]] std::optional<mode_record> known_or_first() const;
    // The record that a change by this author may follow, or why none may.
    [[nodiscard]] backend::result<mode_record> known_at(std::uint64_t epoch) const;
    [[nodiscard]] std::optional<backend::failure> must_wait() const;
    void send_change(const mode_record& next, std::uint64_t version, time_point deadline,
                     backend::handler<answer> done);
    // The same, for what must not overtake the change of another client.
    void propose(const mode_record& next, time_point deadline, backend::handler<answer> done);
    [[nodiscard]] answer take(const backend::register_value& got, time_point asked);
    [[nodiscard]] answer take_pinned();

    const mode_keeper_tools with_;

    // Only the reactor's thread uses these.
    bool closed_ = false;
    bool is_needed_ = false;
    bool is_unused_ = false;  // at the last look the group had no mode
    io::timer_id timer_;
    backend::register_value known_;
    time_point known_asked_{};  // true at some moment since then

    mutable base::mutex mutex_;
    std::optional<mode_record> mode_ GUARDED_BY(mutex_);
    time_point seen_ GUARDED_BY(mutex_){};  // when this client first saw the mode
};

}  // namespace holdfast::joint_backend
