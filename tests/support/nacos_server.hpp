// A real Nacos 3.1 without its console, as tests/interop/fetch.sh brings it.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/nacos_centre.hpp"
#include "support/unique_fd.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::test {

// The constructor starts it, which takes ten seconds or more. It is killed by the destructor, or when the
// thread that started it ends. Tokens live for `tokens_live`. Throws std::runtime_error when something fails
// that a test relies on.
//
// Its HTTP port is one of 127.0.0.1. For other members of a cluster it listens at three ports more, which are
// those of all addresses: Nacos has no setting for that.
class nacos_server : public nacos_centre {
  public:
    explicit nacos_server(version has);
    ~nacos_server() override;

    using nacos_centre::url;
    [[nodiscard]] std::string url(const std::string& id, const std::string& password) const override;
    void publish(const std::string& id, const std::string& text) override;
    void erase(const std::string& id) override;
    void stop() override;
    void start() override;
    void pause() override { process_->pause(); }
    void resume() override { process_->resume(); }

    static constexpr std::chrono::seconds tokens_live{5};

  private:
    // Keeps the ports away from other processes, as reserved_port does.
    class four_ports {
      public:
        four_ports();
        [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

      private:
        [[nodiscard]] bool reserve();
        std::array<unique_fd, 4> held_;
        std::uint16_t number_ = 0;
    };

    void write_config();
    // False: its process has ended.
    [[nodiscard]] bool try_start();
    void make_user();
    [[nodiscard]] std::string token() const;
    // Asks until the server does it.
    void administer(const std::string& method, const std::string& target, const std::string& form);

    const version has_;
    const temp_dir home_;
    const four_ports ports_;
    int starts_ = 0;
    std::optional<child_process> process_;
};

}  // namespace holdfast::test
