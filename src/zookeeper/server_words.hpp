// What single servers tell about themselves: the answers to "srvr" and "mntr", which need no session.
#pragma once

#include "zookeeper/session.hpp"

#include <holdfast/callback.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

// What one server told.
struct told {
    std::string address;
    std::string srvr;  // empty: see why
    std::string mntr;  // by default servers answer it with a sentence that it is not allowed
    std::string why;   // a clause
    boot_clock::duration round_trip{0};
};

// Thread-safe.
class server_words {
  public:
    explicit server_words(io::reactor& on);
    server_words(const server_words&) = delete;
    server_words& operator=(const server_words&) = delete;
    // Answers what was not answered yet with nothing. Not on the reactor's thread.
    ~server_words();

    // Asks each of them, in a thread of its own. Calls `done` once, by the deadline or soon after it.
    void ask(std::vector<server> whom, time_point deadline, callback<void(std::vector<told>)> done);

  private:
    struct question;

    io::reactor& reactor_;
    base::mutex mutex_;
    std::vector<std::weak_ptr<question>> open_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::zookeeper
