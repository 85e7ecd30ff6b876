// How the director moves a lock from Redis to its substitute, and keeps a process from hearing of it.
#include "lab/play/director.hpp"

#include "lab/play/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace holdfast::lab {

void director::use_joint_store() {
    use_masters(1);  // its locks wait while a server has just started
    for (const auto* const name : {"arbiter", "substitute"}) {
        std::filesystem::remove_all(around_.folder.path() / name);
        std::filesystem::create_directory(around_.folder.path() / name);
    }
    const auto substitute = around_.folder.path() / "substitute";
    add_node({.socket = {}, .truth = std::make_unique<sqlite_store_reader>(substitute)}, "row");
}

void director::switch_to_substitute() {
    switch (where_) {
        case kept::moved_by_a_push:
            flag_pushed_ = true;
            for (const auto& one : processes_)
                if (one.sees_switch_) push_flag(one.name_);
            remark("the configuration centre pushes distributed.lock.use-redis=false");
            return;
        case kept::moved_by_an_arbiter: change_mode(); return;
        case kept::on_one_server:
        case kept::on_many:
        case kept::in_table:
        case kept::on_server_or_in_table: remark("this scheme has no switch"); return;
    }
}

void process::cut_off_from_switch() {
    sees_switch_ = false;
    std::filesystem::remove(std::filesystem::path{by_.folder_of(name_)} / "arbiter");
    by_.fault(*this, "is cut off from the switch");
}

void director::push_flag(const std::string& process) const {
    std::ofstream{std::filesystem::path{folder_of(process)} / "distributed.lock.use-redis"} << "false\n";
}

void director::change_mode() {
    part own{.name = "operator", .folder = {}, .ttl = ttl_};
    make_network(own, {});
    cli::scoped_process by{
        "/proc/self/exe", {"holdfast", "lab", "--change-mode"}, cli::scoped_process::talk::lines};
    by.say(to_line(own));
    const auto limit = boot_clock::now() + answer_limit;
    std::string needed;
    // A holder that sees the change leaves Redis a moment later; the next step comes after that.
    const auto leaves_redis = [&] {
        return std::ranges::any_of(processes_, [&](const process& one) {
            return one.sees_switch_ && one.name_ == made_.owner_at(0);
        });
    };
    while (!by.silent() || (needed == "1" && leaves_redis())) {
        if (boot_clock::now() > limit) throw play_broken("the mode could not be changed");
        for (auto line = by.next_line(); line; line = by.next_line()) {
            needed = *line;
            remark(needed == "2"
                       ? fmt::format("holdfast switch: a lock needs Redis and the database now, until no "
                                     "client can use the mode before (mode_lease={}ms here, 20s by default)",
                                     own.mode_lease().count())
                       : "holdfast switch: a lock needs the database now");
        }
        read_reports(look_gap);
        look();
    }
    if (needed != "1") throw play_broken("the mode could not be changed");
}

}  // namespace holdfast::lab
