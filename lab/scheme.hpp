// A way to lock with Redis, as one of the articles teaches it. Each scheme is one file in lab/schemes; the
// files are shown as they are, so nothing stands in them but the scheme.
#pragma once

#include "lab/connection.hpp"
#include "lab/database.hpp"

#include <holdfast/types.hpp>

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
    std::string folder;                // where it works: what of the network it sees
    std::vector<std::string> sockets;  // of the servers that have the lock, in the folder
    std::string password;              // for them; empty: they ask for none
    std::string table;                 // file of the database that has the table of locks
    std::string resource;              // socket of the server that has what the lock protects
    std::string key;                   // the lock
    std::string owner;                 // what this process calls itself in the value of the key
    std::chrono::milliseconds ttl{};
    bool nested = false;                      // takes the lock a second time while it holds it
    std::size_t stack = 0;                    // in bytes; 0: as it is
    std::chrono::milliseconds clock_ahead{};  // the clock of its machine is wrong by so much

    // The servers for a client of holdfast: the same words for all processes, wherever each of them works.
    [[nodiscard]] std::vector<std::string> urls() const {
        std::vector<std::string> all;
        for (const auto& socket : sockets)
            all.push_back("unix:///proc/self/cwd/" + socket +
                          (password.empty() ? "" : "?password=" + password));
        return all;
    }
    [[nodiscard]] std::string url() const { return urls().front(); }
};

// Carries out a scheme: reports what is sent, and stops where the director wants it to.
class performer {
  public:
    performer() = default;
    performer(const performer&) = delete;
    performer& operator=(const performer&) = delete;
    virtual ~performer() = default;

    [[nodiscard]] virtual const part& own_part() const = 0;
    // To one of the servers; the first has the number 0.
    virtual reply send(std::size_t server, const words& command) = 0;
    // To the first, on a connection of its own, for a thread of its own.
    virtual reply send_aside(const words& command) = 0;
    virtual reply send_to_resource(const words& command) = 0;
    virtual sql_answer ask_table(const std::string& statement, const std::vector<std::string>& values) = 0;
    // Subscribes at the first server.
    virtual void listen_to(const std::string& channel) = 0;
    // Blocks until a message comes, or so long.
    virtual void wait_for_message(std::chrono::milliseconds at_most) = 0;
    virtual void stop(std::string_view point) = 0;
    virtual void say(const std::string& text) = 0;
};

// lock() returns when the process believes to hold the lock. What the server refuses ends the process's part,
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
    // An exception leaves the scope in which the lock was taken. The articles' programs have nothing there
    // that would give it back.
    virtual void unwind() {}

    // How long it may believe to hold the lock, if the scheme can tell.
    [[nodiscard]] virtual std::optional<boot_clock::time_point> holds_until() const { return {}; }
    // Writes to what the lock protects; false if that refused.
    virtual bool write() {
        send_to_resource("SET", "resource", "written by " + own_part().name);
        return true;
    }

  protected:
    template <class... Words>
    reply send(const Words&... command) {
        return by_.send(0, {word(command)...});
    }
    template <class... Words>
    reply send_to(std::size_t server, const Words&... command) {
        return by_.send(server, {word(command)...});
    }
    template <class... Words>
    reply send_aside(const Words&... command) {
        return by_.send_aside({word(command)...});
    }
    template <class... Words>
    reply send_to_resource(const Words&... command) {
        return by_.send_to_resource({word(command)...});
    }
    template <class... Values>
    sql_answer ask_table(const std::string& statement, const Values&... values) {
        return by_.ask_table(statement, {word(values)...});
    }
    void listen_to(const std::string& channel) { by_.listen_to(channel); }
    void wait_for_message(std::chrono::milliseconds at_most) { by_.wait_for_message(at_most); }
    [[nodiscard]] std::size_t servers() const { return own_part().sockets.size(); }
    // What the clock of its machine says, since 1970.
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
