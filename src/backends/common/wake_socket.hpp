// Datagrams between the clients of one store on this machine, through sockets in a folder.
#pragma once

#include "base/owned_fd.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::backends {

// Functions may be called by one thread at a time; receive_all() by another one as well.
class wake_socket {
  public:
    enum class sent { yes, receiver_is_gone, not_now };

    // Nothing is made before it is needed; a new folder is private. `client` is the name of its socket.
    wake_socket(std::string folder, std::string client);
    wake_socket(const wake_socket&) = delete;
    wake_socket& operator=(const wake_socket&) = delete;
    ~wake_socket() { close(); }

    // From now on the client can be reached, and needs no more descriptors to send. Throws std::system_error.
    void open();
    // Removes the socket of this client.
    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(in_); }
    [[nodiscard]] int fd() const noexcept { return in_.get(); }

    // Whether a socket of that client is open. The kernel knows: a killed process is not reached, and what is
    // left of its socket is removed, as by send(). True if it cannot be asked, because there is no descriptor
    // or no memory for that: nobody is taken for dead without its word.
    [[nodiscard]] bool reaches(std::string_view client);
    // Never blocks.
    sent send(std::string_view client, std::string_view text);
    // Calls `take` for all datagrams that are there. Never blocks.
    void receive_all(const std::function<void(std::string_view text)>& take);

    // In a forked child: the socket belongs to the parent.
    void abandon() noexcept { ours_ = false; }

  private:
    [[nodiscard]] int open_folder() noexcept;

    const std::string folder_;
    const std::string client_;
    base::owned_fd directory_;
    base::owned_fd in_;
    base::owned_fd out_;
    base::owned_fd probe_;
    bool ours_ = true;
};

}  // namespace holdfast::backends
