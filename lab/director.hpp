// Plays one schedule: starts the processes, decides who runs how far, and reads the truth from the server.
#pragma once

#include "lab/connection.hpp"
#include "lab/false_clock.hpp"
#include "lab/keeper.hpp"
#include "lab/record.hpp"
#include "lab/scheme.hpp"
#include "lab/schemes/schemes.hpp"

#include "cli/signals.hpp"
#include "cli/stage/helper.hpp"
#include "cli/stage/workshop.hpp"

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
    std::string socket;                        // of a server; all that is in it will be deleted
    const cli::stage::private_folder& folder;  // for more servers
    cli::signal_inbox& signals;
};

// A lease ended before the schedule had come to where it should have been held, because the machine did not
// let us run. Nothing is wrong: play it again with a longer one.
class too_slow : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A process did what no schedule can go on from: it failed, or ended. Nothing is shown by such a play.
class play_broken : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class director;

// How a process differs from the others.
struct peculiarities {
    std::optional<std::string> owner{};
    bool nested = false;
    std::size_t stack = 0;
    std::chrono::milliseconds clock_ahead{};
    std::vector<int> cut_off_from{};  // numbers of servers that it cannot reach, counted from 1
    bool carried = false;             // what it says to the first server can get lost on the way
};

// One process of the schedule. It moves only while run() is called.
class process {
  public:
    process(director& by, const part& told, const peculiarities& how);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // Returns where it stopped: there, or at the next point that all schemes have (protocol.hpp);
    // point::failed if the server refused something, point::ended if the process is no more.
    std::string run(std::string_view to) {
        go(to);
        return arrive();
    }
    // The same in two parts: others may run meanwhile.
    void go(std::string_view to);
    std::string arrive();
    // The following throw play_broken if it ends or fails.
    // Until it has the lock, however often it must ask.
    void enters();
    // Asks once. True: it has the lock; false: it is refused.
    [[nodiscard]] bool gets_in();
    // Asks so often. False: it got the lock.
    [[nodiscard]] bool refused(int times);
    // To the end of its part, and writes to what the lock protects.
    void writes();
    [[nodiscard]] bool ended() const noexcept { return ended_; }

    // SIGKILL.
    void kill();
    // SIGSTOP and SIGCONT: all its threads stand still, as in a garbage collection or on a machine that is
    // moved. Throws play_broken if its part is over.
    void pause();
    void resume();

  private:
    friend class director;

    [[noreturn]] void broken(std::string_view at) const;

    director& by_;
    std::string name_;
    cli::stage::helper child_;
    std::string owner_;  // what it calls itself
    std::vector<int> cut_off_from_;
    std::string stands_at_;  // empty while it runs
    bool ended_ = false;     // and the director knows
    std::optional<boot_clock::time_point> last_command_{};
    std::optional<boot_clock::time_point> believes_since_{};
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

    // The truth, as of now: who has the key, of several servers on more than half. Empty: nobody.
    [[nodiscard]] std::string owner();
    [[nodiscard]] bool believes(const process& who) const { return made_.believing(who.name_); }
    [[nodiscard]] boot_clock::time_point believes_since(const process& who) const {
        return who.believes_since_.value();
    }
    // The key has a time to live; without one it stays for ever.
    [[nodiscard]] bool key_expires();
    // When the first of the keys ends if nobody does anything. Only for a key that expires.
    [[nodiscard]] boot_clock::time_point key_ends();

    // What was written last to what the lock protects, such as "written by A".
    [[nodiscard]] std::string resource();

    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept { return ttl_; }
    // Throws too_slow if the TTL is shorter. For what can only be told from a delay by its length.
    void must_last(std::chrono::milliseconds at_least) const;

    // Time passes. For a key that expires and is not renewed; of several: until all are gone.
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
    // Until somebody does, to messages.
    void must_listen();
    // The connections of those who listen.
    void cut_subscriptions();
    // The user of all processes may not use these commands, until it may use all again.
    void forbid(const std::vector<std::string>& commands);
    void allow_all();
    // The server takes no more data, until it takes some again.
    void fill_memory();
    void free_memory();
    // The server will do what a carried process asks of it about the key next, and the answer will get lost.
    void lose_next_answer();
    void must_have_lost_it();

    // The scheme stops there. The others stop at the points of all schemes only.
    [[nodiscard]] bool stops_at(std::string_view point) const;

    // From here on the lock lives on so many servers that know nothing of each other; of a scheme that has
    // one server only, on one, which then stands for whichever is meant. They are counted from 1.
    void use_masters(int number);
    void kill(int server);
    // It dies and comes back without its data.
    void restart(int server);
    // It jumps by so much, forward.
    void step_clock(int server, std::chrono::seconds by);

    // From here on the lock lives on a master that has a replica; of a scheme that has many servers also on
    // two other masters. What it protects stays where it is.
    void use_master_and_replica();
    // Nothing gets from the master to the replica any more.
    void cut_replication();
    // The master dies, and the replica takes its place: new processes find it.
    void fail_over();

    // The end. The processes are killed.
    [[nodiscard]] record finish();

  private:
    friend class process;

    static constexpr auto key = "lock";
    // Between two looks at a key that is to expire.
    static constexpr std::chrono::milliseconds look_gap{2};
    // So long several servers seem to have been running: who was started a moment ago may have forgotten a
    // lock, and some schemes ask.
    static constexpr std::chrono::hours servers_age{1};
    // A process that does not come to its next stop in this time never will.
    static constexpr std::chrono::seconds answer_limit{30};

    // A place where the lock is kept.
    struct node {
        std::string socket;  // empty: it is no server
        std::unique_ptr<keeper> truth;
        std::unique_ptr<false_clock> clock;
        std::unique_ptr<cli::stage::private_server> server;  // empty: it is not ours alone
        std::string identity;                                // of the key's owner, as it stands in the key
        std::optional<boot_clock::time_point> ends{};
    };
    void use(node made, const std::string& name);
    [[nodiscard]] node& numbered(int server);
    void leave_places();
    // What a process sees of the network: each has a folder of its own, in which the servers have the names
    // that they have for all, and the ways to them are its own.
    void lay_ways(part& of, const peculiarities& how);
    // Puts the carrier before this socket.
    [[nodiscard]] std::string carry(const std::string& socket);
    void wait_for_carrier();
    // A socket that refuses everybody.
    [[nodiscard]] std::string dead_end();
    void start_server(node& into, const cli::stage::server_options& how);
    [[nodiscard]] connection& to(node& server);
    // As a member of those that may grant a lock.
    static void mark(connection& server);
    // A command of the director's own that changes something.
    void intervene(node& server, const words& command);

    std::string wait_for(process& one);
    // Reads what has been reported, waiting for more at most so long.
    void listen(std::chrono::milliseconds at_most);
    void hear(process& from);
    void take(process& from, const report& seen);
    void fault(const process& who, const std::string& text);
    // A client of many servers goes on when most have answered, or gives back when it is refused: this waits
    // until all servers have done what they were asked, so that every run shows the same.
    void settle(const process& who);
    [[nodiscard]] bool is_settled(std::size_t number, const process& who);
    // Reads the keys; `changed` is when they did, if they have and it is known.
    void look(std::optional<boot_clock::time_point> changed = {});
    void look_at(std::size_t number, std::optional<boot_clock::time_point> changed);
    // Whose key it is that is there now; empty: that cannot be told yet.
    [[nodiscard]] std::string owner_of(const std::string& identity) const;
    [[nodiscard]] bool is_kept() const;  // somewhere
    [[nodiscard]] instant since_start(boot_clock::time_point t) const { return t - begun_; }

    surroundings around_;
    std::string scheme_;
    kept where_;
    std::chrono::milliseconds ttl_;
    connection resource_;
    std::vector<node> nodes_;
    std::string password_;  // of all servers
    std::string table_;     // file
    std::unique_ptr<cli::stage::private_server> replica_;
    std::unique_ptr<cli::stage::helper> carrier_;
    boot_clock::time_point begun_;
    recorder made_;
    std::deque<process> processes_;
    std::string running_;  // who changed the key if it is another now
};

}  // namespace holdfast::lab
