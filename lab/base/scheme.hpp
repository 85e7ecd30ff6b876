// A way to lock with Redis, as one of the articles teaches it. Each scheme is one file in lab/schemes; the
// lab shows these files unchanged, so they contain only the scheme.
#pragma once

#include "lab/base/connection.hpp"
#include "lab/base/database.hpp"

#include <holdfast/types.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::lab {

// One process's part in a schedule.
struct part {
    std::string name;  // "A"
    std::string scheme;
    std::string folder;                // its working directory, with the sockets that it sees
    std::vector<std::string> sockets;  // of the servers that have the lock, in the folder
    std::string password;              // of these servers; empty: none
    std::string table;                 // file of the database that has the table of locks
    std::string resource;              // socket of the server that has the protected resource
    std::string key;                   // the lock
    std::string owner;                 // the name of this process in the value of the key
    std::chrono::milliseconds ttl{};
    bool nested = false;                      // takes the lock a second time while it holds it
    std::size_t stack = 0;                    // in bytes; 0: unchanged
    std::chrono::milliseconds clock_ahead{};  // the error of its machine's clock

    // The servers for a holdfast client: the same text for all processes, whatever their working directory.
    [[nodiscard]] std::vector<std::string> urls() const {
        std::vector<std::string> all;
        for (const auto& socket : sockets)
            all.push_back("unix:///proc/self/cwd/" + socket +
                          (password.empty() ? "" : "?password=" + password));
        return all;
    }
    [[nodiscard]] std::string url() const { return urls().front(); }
    // Redis and a database, one at a time, as the arbiter says. The mode lease is much shorter than the
    // default of 20 s, and so is a change.
    [[nodiscard]] std::chrono::milliseconds mode_lease() const {
        return std::max(ttl, std::chrono::milliseconds{500});
    }
    [[nodiscard]] std::string joint_url() const {
        return "joint:arbiter=sqlite:/proc/self/cwd/arbiter/mode.db,mode_lease=" +
               std::to_string(mode_lease().count()) + "ms,max_skew=0ms," + url() +
               ",sqlite:/proc/self/cwd/substitute/locks.db";
    }
};

// Carries out a scheme: reports what is sent, and stops where the director wants it to.
class performer {
  public:
    performer() = default;
    performer(const performer&) = delete;
    performer& operator=(const performer&) = delete;
    virtual ~performer() = default;

    [[nodiscard]] virtual const part& own_part() const = 0;
    // Sends to one of the servers; the first has the number 0.
    virtual reply send(std::size_t server, const arguments& command) = 0;
    // Sends to the first, on a separate connection, for another thread.
    virtual reply send_aside(const arguments& command) = 0;
    virtual reply send_to_resource(const arguments& command) = 0;
    virtual sql_answer ask_table(const std::string& statement, const std::vector<std::string>& values) = 0;
    // Subscribes at the first server.
    virtual void listen_to(const std::string& channel) = 0;
    // Blocks until a message comes, at most this long.
    virtual void wait_for_message(std::chrono::milliseconds at_most) = 0;
    virtual void stop(std::string_view point) = 0;
    virtual void say(const std::string& text) = 0;
};

// lock() returns when the process believes that it holds the lock. A refused command ends the process's part,
// as an exception would end the article's method.
class scheme {
  public:
    explicit scheme(performer& by)
        : by_(by), key(by.own_part().key), owner(by.own_part().owner), ttl(by.own_part().ttl) {}
    scheme(const scheme&) = delete;
    scheme& operator=(const scheme&) = delete;
    virtual ~scheme() = default;

    virtual void lock() = 0;
    virtual void unlock() = 0;
    // An exception leaves the scope in which the lock was taken. The articles' programs release nothing then.
    virtual void unwind() {}

    // When its hold ends at the latest, if the scheme knows.
    [[nodiscard]] virtual std::optional<boot_clock::time_point> holds_until() const { return {}; }
    // Writes to the protected resource; false if the resource refused.
    virtual bool write() {
        send_to_resource("SET", "resource", "written by " + own_part().name);
        return true;
    }

  protected:
    template <class... Words>
    reply send(const Words&... command) {
        return by_.send(0, {argument(command)...});
    }
    template <class... Words>
    reply send_to(std::size_t server, const Words&... command) {
        return by_.send(server, {argument(command)...});
    }
    template <class... Words>
    reply send_aside(const Words&... command) {
        return by_.send_aside({argument(command)...});
    }
    template <class... Words>
    reply send_to_resource(const Words&... command) {
        return by_.send_to_resource({argument(command)...});
    }
    template <class... Values>
    sql_answer ask_table(const std::string& statement, const Values&... values) {
        return by_.ask_table(statement, {argument(values)...});
    }
    void listen_to(const std::string& channel) { by_.listen_to(channel); }
    void wait_for_message(std::chrono::milliseconds at_most) { by_.wait_for_message(at_most); }
    [[nodiscard]] std::size_t servers() const { return own_part().sockets.size(); }
    // The time since 1970 by its machine's clock.
    [[nodiscard]] std::chrono::milliseconds system_time() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch()) +
               own_part().clock_ahead;
    }
    void stop(std::string_view point) { by_.stop(point); }
    void say(const std::string& text) { by_.say(text); }
    [[nodiscard]] const part& own_part() const { return by_.own_part(); }

  private:
    performer& by_;

  protected:
    const std::string key;
    const std::string owner;
    const std::chrono::milliseconds ttl;
};

}  // namespace holdfast::lab
