#include "support/galera_cluster.hpp"

#include "support/loopback.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

constexpr const char* library = "/usr/lib/galera/libgalera_smm.so";

std::vector<std::string> settings_of_a_node(const std::string& peers, const std::string& provider) {
    return {"wsrep-on=ON",
            std::string{"wsrep-provider="} + library,
            "wsrep-cluster-address=gcomm://" + peers,
            "wsrep-provider-options=gcache.size=16M;" + provider,
            "binlog-format=ROW",
            "innodb-autoinc-lock-mode=2"};
}

std::string here(const reserved_port& port) { return "127.0.0.1:" + std::to_string(port.number()); }

// What all nodes begin with, so that the second needs no copy of the first's data: only the changes since,
// which the servers send themselves.
const fs::path& first_data() {
    static const temp_dir folder;
    static const fs::path made = [] {
        auto to = folder.path() / "data";
        const reserved_port group;
        auto settings = settings_of_a_node({}, "gmcast.listen_addr=tcp://" + here(group));
        settings.emplace_back("wsrep-new-cluster");
        mariadb_server one{{.settings = std::move(settings)}};
        one.shut_down();
        fs::copy(one.data(), to, fs::copy_options::recursive);
        for (const auto* const own : {"galera.cache", "gvwstate.dat"}) fs::remove(to / own);
        return to;
    }();
    return made;
}

}  // namespace

struct galera_cluster::ports {
    reserved_port group;
    reserved_port changes;
    reserved_port state;
};

bool galera_cluster::available() { return fs::exists(library); }

galera_cluster::galera_cluster(std::size_t nodes) {
    std::string peers;
    for (std::size_t n = 0; n < nodes; ++n) {
        ports_.push_back(std::make_unique<ports>());
        peers += (n == 0 ? "" : ",") + here(ports_.back()->group);
    }
    for (const auto& own : ports_) {
        mariadb_server::options wanted;
        wanted.data = first_data();
        wanted.settings =
            settings_of_a_node(peers, "base_host=127.0.0.1;base_port=" + std::to_string(own->group.number()) +
                                          ";gmcast.listen_addr=tcp://" + here(own->group) +
                                          ";ist.recv_addr=" + here(own->changes));
        wanted.settings.push_back("wsrep-node-address=" + here(own->group));
        // wsrep_sst_nothing, which the server looks for in PATH.
        wanted.settings.emplace_back("wsrep-sst-method=nothing");
        wanted.settings.push_back("wsrep-sst-receive-address=" + here(own->state));
        if (nodes_.empty()) wanted.settings.emplace_back("wsrep-new-cluster");
        const char* const path = std::getenv("PATH");
        wanted.environment = {
            {"PATH", HOLDFAST_TEST_SUPPORT + std::string{":"} + (path == nullptr ? "" : path)},
            {"HOLDFAST_TRANSFERS", transfers_.path().string()}};
        nodes_.push_back(std::make_unique<mariadb_server>(std::move(wanted)));
    }
}

galera_cluster::~galera_cluster() = default;

}  // namespace holdfast::test
