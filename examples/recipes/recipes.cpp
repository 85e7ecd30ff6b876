// All recipes, one after the other: recipes [URL of the locks] [URL of the data] [directory of the device]
#include "cache.hpp"
#include "databases.hpp"
#include "device.hpp"
#include "idempotent.hpp"
#include "job.hpp"
#include "money.hpp"
#include "order.hpp"
#include "stock.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    using namespace recipes;
    const auto connection = open_database(argc > 2 ? argv[2] : "sqlite:recipes.db");
    database& data = *connection;
    const std::filesystem::path folder = argc > 3 ? argv[3] : ".";

    //[policies
    holdfast::config how;
    how.url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    how.policies = {
        {.name = "stock", .match = "stock:*", .outage = holdfast::on_outage::fail_open_process},
        {.name = "order", .match = "order:*", .outage = holdfast::on_outage::fail_open_process},
        {.name = "request", .match = "request:*", .outage = holdfast::on_outage::fail_open_process},
        {.name = "money", .match = "accounts:*"},  // fails closed
        {.name = "job", .match = "job:*"},
    };
    holdfast::client locks{how};
    //]

    create_stock(data);
    create_orders(data);
    create_done(data);
    create_accounts(data);
    create_runs(data);
    create_cache(data);
    data.run("DELETE FROM stock WHERE sku = 'book'");
    data.run("INSERT INTO stock (sku, qty) VALUES ('book', 10)");
    data.run("DELETE FROM accounts WHERE name IN ('ann', 'bob')");
    data.run("INSERT INTO accounts (name, cents) VALUES ('ann', 5000), ('bob', 0)");

    std::cout << "stock: " << (sell(locks, data, "book", 2) == sold::yes ? "sold" : "not sold") << ", "
              << data.find("SELECT qty FROM stock WHERE sku = 'book'").value() << " left\n";
    const order_request order{"ann", "click-1"};
    std::cout << "order: " << create_order(locks, data, order, "A1").value_or("busy")
              << ", asked again: " << create_order(locks, data, order, "A2").value_or("busy") << '\n';
    const auto count = [](database& in) {
        return in.find("SELECT count(*) FROM orders").value() + " orders";
    };
    std::cout << "idempotent: " << handle(locks, data, "count", count).value_or("busy") << '\n';
    std::cout << "money: "
              << (move_money(locks, data, {"ann", "bob", 1500}) == transferred::yes ? "moved" : "not moved")
              << '\n';
    const auto nothing = [](database&) {};
    std::cout << "job: "
              << (run_nightly(locks, data, "report", "today", nothing) ? "ran" : "has run, or runs") << '\n';
    std::cout << "cache: " << get(locks, data, "price", 1min, [] { return std::string{"9.99"}; }) << '\n';

    std::ofstream{folder / "printer"} << "";
    auto devices = device_locks((folder / "locks").string());
    holdfast::mutex printer{devices, "printer"};
    const auto mine = printer.acquire();
    const open_device opened{(folder / "printer").string()};
    std::cout << "device: open, " << to_string(mine.strength()) << '\n';
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
