// The cables themselves: which packets vanish, and which pass.
#include "network/scene.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

namespace holdfast::test {
namespace {

// Sends and receives datagrams: their sender is not notified, and no kernel sends them again.
class datagram_socket {
  public:
    datagram_socket() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        const timeval limit{10 * slower, 0};
        if (fd_.get() < 0 || ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
            ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
            throw std::system_error{errno, std::generic_category(), "a datagram socket"};
    }
    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in own{};
        socklen_t size = sizeof own;
        (void)::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&own), &size);
        return ntohs(own.sin_port);
    }
    // False: the kernel refused to send it.
    [[nodiscard]] bool send(const sockaddr_in& to, const std::string& text) const {
        return ::sendto(fd_.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                        sizeof to) == static_cast<ssize_t>(text.size());
    }
    // The next datagram, and its sender; empty if none comes.
    std::string receive(sockaddr_in& from) const {
        std::array<char, 64> text{};
        socklen_t size = sizeof from;
        const auto n =
            ::recvfrom(fd_.get(), text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
        return n > 0 ? std::string{text.data(), static_cast<std::size_t>(n)} : std::string{};
    }

  private:
    unique_fd fd_;
};

sockaddr_in place(const std::string& address, std::uint16_t port) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    (void)::inet_pton(AF_INET, address.c_str(), &there.sin_addr);
    return there;
}

// A machine with two cables, and datagrams over them. Over the second all pass, so a receiver that gets one
// of those first knows that an earlier one over the first is lost.
class machine_cable : public machines_with_clients {
  protected:
    void SetUp() override {
        machines_with_clients::SetUp();
        if (IsSkipped()) return;
        socket_.emplace();
        far_.emplace(
            [port = socket_->port()](const parent_link& parent, const addresses& here) {
                const datagram_socket own;
                for (;;) {
                    const auto line = parent.await_line();
                    sockaddr_in from{};
                    if (line == "0" || line == "1")
                        parent.report(own.send(place(here.at(line == "1"), port), line) ? "sent" : "refused");
                    else if (line == "listen")
                        parent.report("received " + own.receive(from));
                    else
                        return 0;
                }
            },
            2);
        for (const auto c : {0U, 1U}) {
            machine_sends(c);
            we_receive(c);
        }
    }

    void machine_sends(std::size_t cable) {
        send_line(*far_, std::to_string(cable));
        EXPECT_TRUE(reports(*far_, "sent")) << "the machine could not send";
    }
    void we_receive(std::size_t cable) { EXPECT_EQ(socket_->receive(at_.at(cable)), std::to_string(cable)); }
    void we_send(std::size_t cable) { EXPECT_TRUE(socket_->send(at_.at(cable), std::to_string(cable))); }
    void machine_receives(std::size_t cable) {
        send_line(*far_, "listen");
        EXPECT_TRUE(reports(*far_, "received " + std::to_string(cable)));
    }

    std::optional<datagram_socket> socket_;
    std::optional<machine> far_;
    std::array<sockaddr_in, 2> at_{};
};

TEST_F(machine_cable, of_a_mute_machine_carries_only_what_is_sent_to_it) {
    far_->mute();
    we_send(0);
    machine_receives(0);
    machine_sends(0);
    machine_sends(1);
    we_receive(1);
    far_->heal();
    machine_sends(0);
    we_receive(0);
}

TEST_F(machine_cable, of_a_deaf_machine_carries_only_what_it_sends) {
    far_->deafen();
    machine_sends(0);
    we_receive(0);
    we_send(0);
    we_send(1);
    machine_receives(1);
    far_->heal();
    we_send(0);
    machine_receives(0);
}

TEST_F(machine_cable, that_is_pulled_carries_nothing_while_the_other_still_does) {
    far_->pull(0);
    machine_sends(0);
    machine_sends(1);
    we_receive(1);
    we_send(1);
    machine_receives(1);
    far_->plug_in(0);
    machine_sends(0);
    we_receive(0);
    we_send(0);
    machine_receives(0);
}

}  // namespace
}  // namespace holdfast::test
