// A temporary folder and a redis-server in it, which live as long as their objects.
#pragma once

#include "cli/process/scoped_process.hpp"
#include "cli/process/signals.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// A folder that only this user can read. The destructor removes it with everything in it.
class scratch_folder {
  public:
    // `prefix` is the beginning of its name, so that a user who finds it knows where it comes from.
    explicit scratch_folder(std::string_view prefix);
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

// There is no redis-server program, or it does not start. The message is a sentence without a full stop.
class no_server : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct server_options {
    std::string name = "redis";  // of its files in the folder; at most as long as "replica"
    // Only for a master and its replicas: they connect over the loopback, which other users can reach, too.
    std::string password{};
    bool listens = false;
    int master_port = 0;                     // 0: it has no master
    std::vector<std::string> environment{};  // NAME=VALUE, added to our environment
    signal_inbox* signals = nullptr;         // read while it starts
};

// A redis-server that other users cannot use: it listens on a socket in the folder, and elsewhere only with a
// password. The constructor returns when it answers, and throws no_server otherwise.
class scratch_server {
  public:
    explicit scratch_server(const scratch_folder& in, const server_options& how = {});

    // Sends SIGKILL.
    void kill();
    // Kills and starts it: without its data, on the same socket.
    void restart();

    // The port on the loopback; 0 if it does not listen there.
    [[nodiscard]] int port() const noexcept { return port_; }
    [[nodiscard]] const std::filesystem::path& socket() const noexcept { return socket_; }
    [[nodiscard]] std::string url() const { return "unix://" + socket_.string(); }

  private:
    void start();
    [[nodiscard]] std::filesystem::path written_settings() const;
    [[nodiscard]] std::vector<std::string> command_line(const std::string& program,
                                                        const std::string& settings) const;
    void wait_for_answer(const std::string& program);
    [[nodiscard]] bool answers() const;
    [[nodiscard]] std::string last_words() const;

    std::filesystem::path folder_;
    server_options how_;
    std::filesystem::path socket_;
    std::filesystem::path log_;
    int port_ = 0;
    std::optional<scoped_process> process_;
};

}  // namespace holdfast::cli
