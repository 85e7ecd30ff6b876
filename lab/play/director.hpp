// Plays one schedule: starts the processes, decides how far each runs, and reads the truth from the server.
#pragma once

#include "lab/base/connection.hpp"
#include "lab/base/false_clock.hpp"
#include "lab/base/scheme.hpp"
#include "lab/play/lock_reader.hpp"
#include "lab/play/record.hpp"
#include "lab/schemes/schemes.hpp"

#include "cli/process/scoped_process.hpp"
#include "cli/process/scratch_server.hpp"
#include "cli/process/signals.hpp"

#include <holdfast/types.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

struct report;

// What a schedule is played on.
struct surroundings {
    std::string socket;                 // of a server; all its data will be deleted
    const cli::scratch_folder& folder;  // for more servers
    cli::signal_inbox& signals;
};

// A lease ended before the schedule reached the point where it should be held, because the machine was too
// slow. Nothing is wrong: play the schedule again with a longer lease.
class too_slow : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A process failed or ended, so the schedule cannot go on. Such a play proves nothing.
class play_broken : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class director;

// How a process differs from the others.
struct process_options {
    std::optional<std::string> owner{};
    bool nested = false;
    std::size_t stack = 0;
    std::chrono::milliseconds clock_ahead{};
    std::vector<int> cut_off_from{};  // numbers of servers that it cannot reach, counted from 1
    bool may_lose_reply = false;      // a proxy to the first server can lose a reply (reply_dropper.hpp)
};

// One process of the schedule. It moves only while run() is called.
class process {
  public:
    process(director& by, const part& own, const process_options& how);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // Returns where it stopped: there, or at the next point that all schemes have (protocol.hpp);
    // point::failed if the server refused something, point::ended if the process has ended.
    std::string run(std::string_view to) {
        go(to);
        return arrive();
    }
    // The same in two steps, so that others can run meanwhile.
    void go(std::string_view to);
    std::string arrive();
    // The following throw play_broken if the process ends or fails.
    // Runs until it has the lock, however often it must ask.
    void enters();
    // Asks once. True: it has the lock; false: it is refused.
    [[nodiscard]] bool gets_in();
    // Asks this many times. False: it got the lock.
    [[nodiscard]] bool refused(int times);
    // Runs to the end of its part, in which it writes to the protected resource.
    void writes();
    [[nodiscard]] bool ended() const noexcept { return ended_; }

    // SIGKILL.
    void kill();
    // SIGSTOP and SIGCONT: all its threads stand still, as in a garbage collection or while a machine is
    // migrated. Throws play_broken if its part is over.
    void pause();
    void resume();
    // No pushed flag and no arbiter reach it from now on: see director::switch_to_substitute().
    void cut_off_from_switch();

  private:
    friend class director;

    [[noreturn]] void broken(std::string_view at) const;

    director& by_;
    std::string name_;
    cli::scoped_process child_;
    std::string owner_;  // its name in the key
    std::vector<int> cut_off_from_;
    bool sees_switch_ = true;
    std::string stands_at_;  // empty while it runs
    bool ended_ = false;     // and the director knows
    std::optional<boot_clock::time_point> last_command_{};
    std::string last_message_{};  // for people: why it failed
    std::optional<boot_clock::time_point> believes_since_{};
};

// Thread safety: none. Create it and its processes on the main thread. Every wait throws interrupted
// when a signal asks for the end, and too_slow when the machine stood still for long.
class director {
  public:
    director(const surroundings& around, std::string scheme, std::chrono::milliseconds ttl);
    director(const director&) = delete;
    director& operator=(const director&) = delete;

    // The name is a letter, which the story and the timeline show.
    process& start(const std::string& name, const process_options& how = {});

    // Adds the next step to the story, or a remark of the director.
    void step(const std::string& text);
    void remark(const std::string& text);

    // The truth as of now: the owner of the key, on more than half of several servers. Empty: nobody.
    [[nodiscard]] std::string owner();
    [[nodiscard]] bool believes(const process& who) const { return made_.believing(who.name_); }
    [[nodiscard]] boot_clock::time_point believes_since(const process& who) const {
        return who.believes_since_.value();
    }
    // The key has a time to live; without one it stays for ever.
    [[nodiscard]] bool key_expires();
    // When the first of the keys expires if nothing changes it. Only for a key that expires.
    [[nodiscard]] boot_clock::time_point key_ends();

    // What was written last to the protected resource, such as "written by A".
    [[nodiscard]] std::string resource();

    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept { return ttl_; }
    // Throws too_slow if the TTL is shorter. For flaws that only their length distinguishes from a delay.
    void must_last(std::chrono::milliseconds at_least) const;

    // Waits until all keys are gone. Only for keys that expire and are not renewed.
    void wait_until_gone();
    // Waits until the key is gone, or has outlived its TTL by half because somebody renews it. True: gone.
    bool wait_beyond_ttl();
    // Throws too_slow after `end`: what follows would prove nothing.
    void must_be_before(boot_clock::time_point end) const;
    void must_be_owned_by(const process& who);
    // Throws too_slow if it owns the lock in no place any more.
    void must_own_some(const process& who);

    // Removes the key's TTL, as if its owner renewed it for ever.
    void make_key_last();
    // Cuts every connection to the server but ours.
    void cut_connections();
    // Waits until a process has subscribed to messages.
    void must_listen();
    // Cuts the connections of subscribers.
    void cut_subscriptions();
    // Denies these commands to the user of all processes, until allow_all().
    void forbid(const std::vector<std::string>& commands);
    void allow_all();
    // The server accepts no more data, until free_memory().
    void fill_memory();
    void free_memory();
    // The server will run the next command of such a process about the key, and the reply will get lost.
    void lose_next_answer();
    void must_have_lost_it();

    // An operator moves the lock from Redis to its substitute, in the scheme's own way. Returns when all
    // processes have noticed that can. Schemes that cannot be moved stay where they are.
    void switch_to_substitute();

    // The scheme has this stop point. Other schemes have only the common ones.
    [[nodiscard]] bool stops_at(std::string_view point) const;

    // From here on the lock is on this many independent servers, counted from 1. If the scheme has only one
    // server, it is on one, which stands for every number.
    void use_masters(int number);
    void kill(int server);
    // Kills it, and starts it again without its data.
    void restart(int server);
    // Its clock jumps forward by this much.
    void step_clock(int server, std::chrono::seconds by);

    // From here on the lock is on a master that has a replica, and for a scheme of many servers also on two
    // other masters. The protected resource stays where it is.
    void use_master_and_replica();
    // Stops replication from the master to the replica.
    void cut_replication();
    // Kills the master and promotes the replica in its place: new processes find it.
    void fail_over();

    // Ends the play and kills the processes.
    [[nodiscard]] record finish();

  private:
    friend class process;

    static constexpr auto key = "lock";
    // Time between two looks at a key that will expire.
    static constexpr std::chrono::milliseconds look_gap{2};
    // The apparent uptime of several servers: one that has just started may have forgotten a lock, and some
    // schemes check.
    static constexpr std::chrono::hours servers_age{1};
    // A process that does not reach its next stop in this time never will.
    static constexpr std::chrono::seconds answer_limit{30};

    // A place where the lock is kept.
    struct node {
        std::string socket;  // empty: it is no server
        std::unique_ptr<lock_reader> truth;
        std::unique_ptr<false_clock> clock;
        std::unique_ptr<cli::scratch_server> server;  // empty: it is not ours alone
        std::string identity;                         // the key's owner, as stored in the key
        std::optional<boot_clock::time_point> ends{};
    };
    void add_node(node made, const std::string& name);
    [[nodiscard]] node& numbered(int server);
    void clear_nodes();
    // The network that a process sees: a folder of its own with links to the servers. Their names are the
    // same for all processes, the targets are its own.
    void make_network(part& of, const process_options& how);
    // Puts the proxy in front of this socket.
    [[nodiscard]] std::string start_reply_dropper(const std::string& socket);
    void wait_for_reply_dropper();
    // A socket that refuses every connection.
    [[nodiscard]] std::string dead_end();
    [[nodiscard]] std::string folder_of(const std::string& process) const;
    void push_flag(const std::string& process) const;
    // A Redis of its own, a database, and an arbiter.
    void use_joint_store();
    // Moves the joint store from Redis to its database.
    void change_mode();
    void start_server(node& into, const cli::server_options& how);
    [[nodiscard]] connection& to(node& server);
    // Marks a server as a member that may grant a lock.
    static void mark(connection& server);
    // Sends a command of the director, which the record shows.
    void intervene(node& server, const arguments& command);

    std::string wait_for(process& one);
    // Reads the reports, and waits for more at most this long.
    void read_reports(std::chrono::milliseconds at_most);
    void read_reports_of(process& from);
    void record_report(process& from, const report& seen);
    void fault(const process& who, const std::string& text);
    // A client of many servers goes on when most have replied, or releases when it is refused. This waits
    // until all servers have run its commands, so that every run shows the same.
    void settle(const process& who);
    [[nodiscard]] bool is_settled(std::size_t number, const process& who);
    // Reads the keys; `changed` is when they changed, if they have and it is known.
    void look(std::optional<boot_clock::time_point> changed = {});
    void look_at(std::size_t number, std::optional<boot_clock::time_point> changed);
    // The process that owns a key with this identity; empty: not known yet.
    [[nodiscard]] std::string owner_of(const std::string& identity) const;
    [[nodiscard]] bool is_kept() const;  // in any place
    [[nodiscard]] instant since_start(boot_clock::time_point t) const { return t - begun_; }

    surroundings around_;
    std::string scheme_;
    kept where_;
    std::chrono::milliseconds ttl_;
    connection resource_;
    std::vector<node> nodes_;
    std::string password_;  // of all servers
    std::string table_;     // file
    bool flag_pushed_ = false;
    std::unique_ptr<cli::scratch_server> replica_;
    std::unique_ptr<cli::scoped_process> reply_dropper_;
    boot_clock::time_point begun_;
    recorder made_;
    std::deque<process> processes_;
    std::string running_;  // the process that changed the key, if it changed
};

}  // namespace holdfast::lab
