// What happened while a schedule was played: what each process sent and believed, and who owned the key.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

// Time since the schedule began. All processes read the same clock (boot_clock), so their times can be
// compared.
using instant = std::chrono::nanoseconds;

enum class event_kind {
    step,     // the director says what comes next; `who` is empty
    command,  // a process, or the director when `who` is empty, sent it and got the reply
    stop,     // a process stopped at a stop point
    says,     // a process, or the director when `who` is empty, reports what it sees
    fault,    // what the director did to a process: killed, stopped, cut off
};

struct event {
    instant at{};
    event_kind kind = event_kind::says;
    std::string who;
    std::string text;
    std::string reply;  // of a command
    int times = 1;      // repeated events are merged into one
};

struct span {
    std::string who;
    instant from{};
    instant to{};

    friend bool operator==(const span&, const span&) = default;
};

// A place where the lock is kept, and its owners there.
struct place {
    std::string name;
    std::vector<span> owners;
};

struct record {
    std::string scheme;
    std::chrono::milliseconds ttl{};
    std::vector<event> events;  // in the order of time
    std::vector<span> beliefs;  // by each process: "I hold the lock"
    std::vector<span> waits;    // it was refused, and wants the lock
    std::vector<span> stills;   // it stood still
    std::vector<span> deaths;   // its process ended, at `from`
    std::vector<place> places;  // as the servers see it
    instant end{};
};

// Two processes that both believed they held the lock, and when.
struct overlap {
    std::string first, second;
    instant from{};
    instant to{};

    friend bool operator==(const overlap&, const overlap&) = default;
};
[[nodiscard]] std::vector<overlap> overlaps(const record& of);
// Whether these two overlapped, in either order.
[[nodiscard]] bool overlapped(const record& of, std::string_view one, std::string_view other);

// Makes a record from reports; those of different processes may arrive in any order.
class recorder {
  public:
    recorder(std::string scheme, std::chrono::milliseconds ttl);

    void note(event seen);

    // `who` believes from `at` on that it holds the lock.
    void believes(const std::string& who, instant at);
    // The belief ends at `at`, or at `until` if the holder knows that its lease ends earlier.
    void believes_no_more(const std::string& who, instant at, std::optional<instant> until = {});
    [[nodiscard]] bool believing(const std::string& who) const { return believing_.contains(who); }

    // It waits for the lock, until it believes it has the lock or stops waiting.
    void waits(const std::string& who, instant at) { waiting_.try_emplace(who, at); }
    void waits_no_more(const std::string& who, instant at) { end(waiting_, who, at, made_.waits); }

    // Its process stands still, and runs again.
    void stands_still(const std::string& who, instant at) { still_.try_emplace(who, at); }
    void moves_again(const std::string& who, instant at) { end(still_, who, at, made_.stills); }

    // Its process has ended.
    void dies(const std::string& who, instant at);

    // Adds a place; the first has the number 0.
    void add_place(const std::string& name);
    // Only while nothing is kept in them.
    void clear_places();
    // `who` owns the key there from `at` on; empty: the key is gone.
    void owned_by(std::size_t place, const std::string& who, instant at);
    // The owner of more than half of the places; empty if there is none.
    [[nodiscard]] std::string owner() const;
    [[nodiscard]] const std::string& owner_at(std::size_t place) const { return owners_.at(place).who; }

    // Ends the record, and every span that is still open.
    [[nodiscard]] record finish(instant at);

  private:
    using since = std::map<std::string, instant>;
    void ends(const std::string& who, instant at);
    static void end(since& of, const std::string& who, instant at, std::vector<span>& into);

    record made_;
    since believing_;
    since waiting_;
    since still_;
    std::vector<span> owners_;  // of each place, now; `to` is not known yet
};

}  // namespace holdfast::lab
