// Plays one schedule: starts the processes, decides who runs how far, and reads the truth from the server.
#pragma once

#include "lab/connection.hpp"
#include "lab/record.hpp"
#include "lab/scheme.hpp"

#include "cli/signals.hpp"
#include "cli/stage/helper.hpp"
#include "cli/stage/workshop.hpp"

#include <holdfast/types.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

struct report;

// What a schedule is played on.
struct surroundings {
    std::string socket;                        // of the server; all that is in it will be deleted
    const cli::stage::private_folder& folder;  // for more servers
    cli::signal_inbox& signals;
};

// A lease ended before the schedule had come to where it should have been held, because the machine did not
// let us run. Nothing is wrong: play it again with a longer one.
class too_slow : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class director;

// One process of the schedule. It moves only while run() is called.
class process {
  public:
    process(director& by, const part& told);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // Returns where it stopped: there, or at the next point that all schemes have (protocol.hpp);
    // point::failed if the server refused something, point::ended if the process is no more.
    std::string run(std::string_view to);
    // Is refused the lock so many times. False if it got the lock, or ended, before.
    bool refused(int times);
    [[nodiscard]] bool ended() const noexcept { return ended_; }

    // SIGKILL.
    void kill();
    // SIGSTOP and SIGCONT: all its threads stand still, as in a garbage collection or on a machine that is
    // moved.
    void pause();
    void resume();

  private:
    friend class director;

    director& by_;
    std::string name_;
    cli::stage::helper child_;
    std::string stands_at_;  // empty while it runs
    bool ended_ = false;     // and the director knows
    std::optional<boot_clock::time_point> last_command_{};
};

// How a process differs from the others.
struct peculiarities {
    std::optional<std::string> owner{};
    bool nested = false;
    std::size_t stack = 0;
};

// Thread safety: none; to be made on the main thread, as its processes are. Every wait throws
// stage::interrupted when a signal asks for the end, and too_slow when the machine stood still for long.
class director {
  public:
    director(const surroundings& around, std::string scheme, std::chrono::milliseconds ttl);
    director(const director&) = delete;
    director& operator=(const director&) = delete;

    // The name is a letter; it stands in the story and in the timeline.
    process& start(const std::string& name, const peculiarities& how = {});

    // What comes next in the story, and what the director remarks.
    void step(const std::string& text);
    void remark(const std::string& text);

    // The truth, as of now. Empty: nobody owns the key.
    [[nodiscard]] std::string owner();
    [[nodiscard]] bool believes(const process& who) const { return made_.believing(who.name_); }
    // The key has a time to live; without one it stays for ever.
    [[nodiscard]] bool key_expires();
    // When it ends if nobody does anything. Only for a key that expires.
    [[nodiscard]] boot_clock::time_point key_ends();

    // What was written last to what the lock protects, such as "written by A".
    [[nodiscard]] std::string resource();

    // Time passes. For a key that expires and is not renewed.
    void wait_until_gone();
    // Until it is gone, or has lived half as long again as its TTL because somebody renews it. True: gone.
    bool wait_beyond_ttl();
    // Throws too_slow if it is later: what follows would prove nothing.
    void must_be_before(boot_clock::time_point end) const;
    void must_be_owned_by(const process& who);

    // The key has no TTL any more, as if its owner renewed it for ever.
    void make_key_last();
    // Every connection to the server but ours.
    void cut_connections();
    // The user of all processes may not use these commands, until it may use all again.
    void forbid(const std::vector<std::string>& commands);
    void allow_all();

    // From here on the lock lives on a master that has a replica; what it protects stays where it is.
    void use_master_and_replica();
    // Nothing gets from the master to the replica any more.
    void cut_replication();
    // The master dies, and the replica takes its place: new processes find it.
    void fail_over();

    // The end. The processes are killed.
    [[nodiscard]] record finish();

  private:
    friend class process;

    std::string wait_for(process& one);
    // Reads what has been reported, waiting for more at most so long.
    void listen(std::chrono::milliseconds at_most);
    void hear(process& from);
    void take(process& from, const report& seen);
    void fault(const process& who, const std::string& text);
    // Reads the key; `at` is when it changed, if it has.
    void look(boot_clock::time_point at);
    [[nodiscard]] instant since_start(boot_clock::time_point t) const { return t - begun_; }

    surroundings around_;
    std::string scheme_;
    std::chrono::milliseconds ttl_;
    connection resource_;
    connection truth_;      // to the server that has the lock
    std::string socket_;    // its
    std::string password_;  // and
    std::optional<cli::stage::private_server> master_, replica_;
    boot_clock::time_point begun_;
    recorder made_;
    std::deque<process> processes_;

    std::string running_;   // who changed the key if it is another now
    std::string identity_;  // of the key's owner, as it stands in the key; empty: there is no key
    std::optional<boot_clock::time_point> ends_{};
};

}  // namespace holdfast::lab
