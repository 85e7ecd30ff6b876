#include "support/zookeeper_snapshot.hpp"

#include <string_view>

namespace holdfast::test {

namespace {

class writer {
  public:
    writer& number(std::uint64_t n, int bytes) {
        for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
            bytes_ += static_cast<char>((n >> static_cast<unsigned>(shift)) & 0xffU);
        return *this;
    }
    writer& i32(std::int32_t n) { return number(static_cast<std::uint32_t>(n), 4); }
    writer& i64(std::int64_t n) { return number(static_cast<std::uint64_t>(n), 8); }
    writer& text(std::string_view t) {
        i32(static_cast<std::int32_t>(t.size()));
        bytes_ += t;
        return *this;
    }
    void node(std::string_view path, std::int64_t access, std::int32_t numbers_given) {
        text(path).text("").i64(access);
        i64(1).i64(1);                     // the transactions that created and changed it
        i64(0).i64(0);                     // and when
        i32(0).i32(numbers_given).i32(0);  // versions of its data, its children, its access
        i64(0).i64(1);                     // its session, the last change of its children
    }
    // Adler-32 of all so far, which ends a snapshot.
    std::string sealed() {
        std::uint32_t a = 1;
        std::uint32_t b = 0;
        for (const char c : bytes_) {
            a = (a + static_cast<unsigned char>(c)) % 65521;
            b = (b + a) % 65521;
        }
        i64((std::int64_t{b} << 16U) | a).text("/");
        return bytes_;
    }

  private:
    std::string bytes_;
};

}  // namespace

std::string zookeeper_snapshot(const std::vector<zookeeper_node>& nodes) {
    constexpr std::int64_t anyone = 1;
    constexpr std::int32_t all_rights = 31;
    writer w;
    w.number(0x5a4b534e, 4).i32(2).i64(-1);  // "ZKSN", the version of the format
    w.i32(0);                                // sessions
    w.i32(1).i64(anyone).i32(1).i32(all_rights).text("world").text("anyone");
    for (const auto* const needed : {"", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"})
        w.node(needed, anyone, 0);
    for (const auto& n : nodes) w.node(n.path, anyone, n.numbers_given);
    w.text("/");
    return w.sealed();
}

}  // namespace holdfast::test
