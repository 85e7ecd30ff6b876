// Three ZooKeeper servers. Clients reach each over a wire, and so do the servers each other. The first client
// has wires of its own.
#pragma once

#include "chaos/runner/plan.hpp"
#include "support/wire.hpp"
#include "support/zookeeper_server.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::chaos {

class ensemble {
  public:
    static constexpr std::size_t members = 3;
    static constexpr milliseconds tick{200};

    struct options {
        // How long a server waits for others, in ticks. 0: as the servers of all tests.
        int patience = 0;
        // A stopped leader goes on only when it was replaced.
        bool replaced = false;
    };

    explicit ensemble(options wanted);

    [[nodiscard]] std::string url() const { return url_over(to_servers_); }
    [[nodiscard]] std::string url_of_first() const { return url_over(of_first_); }
    [[nodiscard]] std::string direct_url() const { return servers_.url(); }
    [[nodiscard]] std::vector<test::wire*> wires() const;

    // A fault of all servers.
    void begin(const planned&);
    void end(const planned&);
    void mend();

  private:
    using wires_to_all = std::array<std::unique_ptr<test::wire>, members>;

    [[nodiscard]] static std::string url_over(const wires_to_all& all);
    void stop(std::size_t n);
    void pause(std::size_t n);

    const options options_;
    test::zookeeper_servers servers_;
    wires_to_all to_servers_, of_first_;
    std::vector<std::size_t> paused_, stopped_;
};

}  // namespace holdfast::chaos
