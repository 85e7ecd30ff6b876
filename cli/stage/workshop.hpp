// What a show runs in: a temporary folder and a redis-server of its own.
#pragma once

#include "cli/stage/helper.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::cli::stage {

// A folder that only this user can read, removed with everything in it by the destructor.
class private_folder {
  public:
    // The name begins so, for whoever finds one.
    explicit private_folder(std::string_view prefix);
    private_folder(const private_folder&) = delete;
    private_folder& operator=(const private_folder&) = delete;
    ~private_folder();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

// There is no redis-server to start, or it does not start. The text is a sentence without a full stop.
class no_server : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A redis-server that nobody else can reach: it listens on a socket in the folder and nowhere else. The
// constructor returns when it answers, and throws no_server otherwise.
class private_server {
  public:
    explicit private_server(const private_folder& in);

    [[nodiscard]] const std::filesystem::path& socket() const noexcept { return socket_; }
    [[nodiscard]] std::string url() const { return "unix://" + socket_.string(); }

  private:
    [[nodiscard]] bool answers() const;
    [[nodiscard]] std::string last_words() const;

    std::filesystem::path socket_;
    std::filesystem::path log_;
    std::optional<helper> process_;
};

}  // namespace holdfast::cli::stage
