// The lab's Chinese texts without its rungs: schemes, director, processes, page.
#include "lab/translations_zh.hpp"

#include <array>
#include <vector>

namespace holdfast::lab {

namespace {

constexpr auto of_the_rest = std::to_array<translation>({
    // The schemes, a line each.
    {"SETNX; DEL", "SETNX；DEL"},
    {"SETNX, PEXPIRE; DEL", "SETNX，PEXPIRE；DEL"},
    {"SET NX PX, the same value for all; DEL", "SET NX PX，所有人的值相同；DEL"},
    {"SET NX PX, a value per owner; GET, DEL", "SET NX PX，各用自己的唯一值；GET，DEL"},
    {"SET NX PX, a value per owner; compare and delete in Lua",
     "SET NX PX，各用自己的唯一值；用 Lua 比较并删除"},
    {"\"owner:count\", command by command", "\"owner:count\"，逐条命令执行"},
    {"\"owner:count\", in Lua", "\"owner:count\"，用 Lua 执行"},
    {"a hash of owner and count, in Lua; a watchdog", "用 Hash 记录持有者和重入次数，用 Lua 执行；有看门狗"},
    {"SET NX PX on every one of several servers", "在多台服务器的每一台上 SET NX PX"},
    {"SET NX PX on more than half, without a check of the clock", "在半数以上的服务器上 SET NX PX，不看时钟"},
    {"SET NX PX on more than half, within the TTL", "在半数以上的服务器上 SET NX PX，且耗时小于 TTL"},
    {"Redlock on nodes marked as members", "RedLock（红锁），节点须带有成员标记"},
    {"Redlock with a fence", "RedLock（红锁）加 fencing token"},
    {"SET NX PX; without Redis a lock in the process", "SET NX PX；Redis 不可用时降级为本地锁"},
    {"SET NX PX; a process that is refused takes a lock of its own",
     "SET NX PX；被拒绝的进程改用自己的本地锁"},
    {"SET NX PX; without Redis a row in a table", "SET NX PX；Redis 不可用时降级为表中的一行"},
    {"SET NX PX, or a row in a table, as a pushed flag says", "SET NX PX 或表中的一行，由推送的开关决定"},
    {"INSERT ... ON CONFLICT DO UPDATE", "INSERT ... ON CONFLICT DO UPDATE"},
    {"the upsert of table, then SELECT owner", "table 的 upsert，再 SELECT owner"},
    {"an upsert by the database's clock, which writes only if it takes the lock",
     "按数据库时钟的 upsert，没有拿到锁就什么也不写"},
    {"no lock: it fails", "不是锁：总是失败"},
    {"holdfast::mutex", "holdfast::mutex"},
    {"holdfast::recursive_mutex", "holdfast::recursive_mutex"},
    {"holdfast::mutex, fenced", "holdfast::mutex，带 fencing token"},
    {"holdfast::recursive_mutex, waiting", "holdfast::recursive_mutex，等待唤醒"},
    {"holdfast::mutex, confirmed by a replica", "holdfast::mutex，由从节点确认"},
    {"holdfast::mutex on a redlock", "redlock 上的 holdfast::mutex"},
    {"holdfast::mutex on a joint store: Redis, or a database",
     "joint 存储上的 holdfast::mutex：Redis 或数据库"},
    {"holdfast::mutex on a redlock, fenced", "redlock 上的 holdfast::mutex，带 fencing token"},

    // The director.
    {"is killed (SIGKILL)", "被杀死（SIGKILL）"},
    {"stands still (SIGSTOP)", "停住（SIGSTOP）"},
    {"goes on (SIGCONT)", "恢复运行（SIGCONT）"},
    {"is killed by signal {}", "被信号 {} 杀死"},
    {"ends with code {}", "退出，退出码 {}"},
    {"node {} is killed (SIGKILL)", "节点 {} 被杀死（SIGKILL）"},
    {"node {} is killed, and started again without its data", "节点 {} 被杀死，重启后数据丢失"},
    {"the clock of node {} jumps by {} s", "节点 {} 的时钟跳变 {} 秒"},
    {"the replica is sent REPLICAOF 127.0.0.1 1, where nobody listens",
     "让从节点执行 REPLICAOF 127.0.0.1 1，而那里没有人监听"},
    {"the master is killed (SIGKILL)", "主节点被杀死（SIGKILL）"},
    {"is cut off from the switch", "与开关失去联系"},
    {"this scheme has no switch", "这个方案没有开关"},
    {"the configuration centre pushes distributed.lock.use-redis=false",
     "配置中心推送 distributed.lock.use-redis=false"},
    {"holdfast switch: a lock needs Redis and the database now, until no client can use the mode before "
     "(mode_lease={}ms here, 20s by default)",
     "holdfast switch：现在锁需要同时在 Redis 和数据库中持有，直到没有客户端还能使用之前的模式（这里 "
     "mode_lease={}ms，默认 20s）"},
    {"holdfast switch: a lock needs the database now", "holdfast switch：现在锁只需要数据库"},
    {"a reply of the server got lost on its way to A", "服务器的一个应答在送往 A 的途中丢失"},

    // The processes.
    {"a message came", "收到一条消息"},
    {"its subscription is broken: {}", "它的订阅连接断开：{}"},
    {"no message came in time", "没有及时收到消息"},
    {"gives up: {}", "放弃：{}"},
    {"sees that its lease has ended, and does not write", "发现租约已经结束，不写入"},
    {"writes to the resource", "写入资源"},
    {"is refused by the resource: a newer fence came first", "被资源拒绝：更新的 fencing token 已经先到"},
    {"release(): released", "release()：released（已释放）"},
    {"release(): already_lost", "release()：already_lost（早已失去）"},
    {"cannot reach Redis, and takes a lock of its process", "连不上 Redis，改用自己进程的本地锁"},
    {"cannot reach Redis, and uses the table", "连不上 Redis，改用表"},
    {"has no lock in Redis, and takes a lock of its process", "没有拿到 Redis 里的锁，改用自己进程的本地锁"},
    {"reads the flag: use Redis", "读取开关：使用 Redis"},
    {"reads the flag: use the table", "读取开关：使用表"},
    {"knows the mode: a lock needs Redis", "得知模式：锁需要 Redis"},
    {"knows the mode: a lock needs the database", "得知模式：锁需要数据库"},
    {"knows the mode: a lock needs Redis and the database", "得知模式：锁需要 Redis 和数据库"},
    {"cannot ask the arbiter, or the store that the lock needs", "问不到仲裁者，或者锁所需要的存储"},
    {"gets not_replicated: no replica has the lock, so it does not hold it",
     "得到 not_replicated：没有从节点拥有这把锁，所以它不持有锁"},
    {"gets no reply from most servers in time", "没有及时得到多数服务器的应答"},

    // The page and the terminal.
    {"holdfast lab", "holdfast 实验室"},
    {"The lab", "实验室"},
    {"Why simple distributed locks fail, and what cures them", "简单的分布式锁为什么会失效，又该怎么改进"},
    {"Every picture below is a record of a real run: real processes on a real redis-server, driven "
     "to the points where it matters. The axis counts changes, not time.",
     "下面的每张图都是一次真实运行的记录：真实的进程连着真实的 redis-server，"
     "被一步步带到关键之处。横轴按变化计数，不按时间。"},
    {"believes it holds the lock, alone", "自认为持有锁，而且只有它一个"},
    {"believes it while another does too", "自认为持有锁，而另一个也这么认为"},
    {"its process ends", "进程结束"},
    {"waits for the lock", "等待锁"},
    {"stands still", "停住"},
    {"owns the key on the server", "在服务器上拥有 key"},
    {"the flaw", "缺陷"},
    {"the cure, on the same schedule", "改进方案，同样的步骤"},
    {"holdfast, on the same schedule", "holdfast，同样的步骤"},
    {"holdfast with two stores, on the same schedule", "holdfast 使用两个存储，同样的步骤"},
    {"on this schedule", "按这组步骤"},
    {"Cannot be played so:", "无法这样演示："},
    {"The flaw is seen.", "出现了缺陷。"},
    {"The flaw is not seen.", "没有出现缺陷。"},
    {"The clock of node 1 is ahead, that of node 3 is behind", "节点 1 的时钟偏快，节点 3 的时钟偏慢"},
    {"Flaw seen.", "缺陷出现了。"},
    {"Cured.", "已解决。"},
    {"Not here.", "这里没有出现。"},
    {"Not played:", "没有演示："},
    {"NOT AS PREDICTED: flaw not seen.", "与预期不符：缺陷没有出现。"},
    {"NOT AS PREDICTED:", "与预期不符："},
    {"the flaw was seen here too. Please report it.", "缺陷在这里也出现了。请反馈给我们。"},
    {"two believed they held the lock. Please report it.", "有两个进程同时自认为持有锁。请反馈给我们。"},
    {"has the lock: ", "拿到锁："},
    {"has the lock twice: ", "第二次拿到锁："},
    {"is refused: ", "被拒绝："},
    {"stops at {}", "停在 {}"},
    {"({} times)", "（{} 次）"},
    {"step", "步骤"},
    {"key", "key"},
    {"row", "行"},
    {"director", "调度者"},
    {"What happened, step by step", "发生了什么，一步一步看"},
    {"The scheme", "方案"},
    {"The schemes", "各个方案"},
    {"Source", "源码"},
    {"What goes wrong", "问题在哪里"},
    {"What cures it", "怎样改进"},
    {"What holdfast does", "holdfast 怎么做"},
    {"What holdfast does with two stores", "holdfast 使用两个存储时怎么做"},
    {"from \"{}\"", "出自“{}”"},
    {"Rungs", "各级方案"},

    // The table of all plays, the lines below it, and the last line.
    {"rung", "级别"},
    {"schedule", "时序"},
    {"scheme", "方案"},
    {"flaw", "缺陷"},
    {"as predicted", "符合预期"},
    {"seen", "出现"},
    {"not seen", "未出现"},
    {"not everything went as predicted", "并非所有演示都符合预期"},
    {"interrupted; the processes of the lab are ended and its files removed",
     "已中断；实验室的进程已结束，它的文件已删除"},
    {"written: {}", "已写入：{}"},

    // Why a play did not finish.
    {"too slow with every TTL: the key was gone already", "无论 TTL 多长都太慢：key 已经不在了"},
    {"too slow with every TTL: a grant came after its lease", "无论 TTL 多长都太慢：授予到达时租约已经结束"},
    {"too slow with every TTL: this needs a longer TTL", "无论 TTL 多长都太慢：这里需要更长的 TTL"},
    {"too slow with every TTL: the machine stood still", "无论 TTL 多长都太慢：机器停顿了一段时间"},
    {"too slow with every TTL: the key expired too early", "无论 TTL 多长都太慢：key 过早到期"},
    {"too slow with every TTL: the key expired before its owner stood still",
     "无论 TTL 多长都太慢：key 在持有者停住之前就到期了"},
    {"too slow with every TTL: {} lost the key too early", "无论 TTL 多长都太慢：{} 过早失去了 key"},
    {"the key of {} does not expire", "{} 的 key 一直没有到期"},
    {"process {} of {} does not answer", "进程 {}（{}）没有响应"},
    {"process {} ended", "进程 {} 已经退出"},
    {"process {} stopped at {}", "进程 {} 停在 {}"},
    {"process {} stopped at {}: {}", "进程 {} 停在 {}：{}"},
    {"process {} did not write", "进程 {} 没有写入"},
    {"{} has no Redis for this step", "{} 没有可供这一步使用的 Redis"},
    {"nobody subscribes", "没有人订阅"},
    {"the mode could not be changed", "无法改变模式"},
    {"B got the lock while A held it", "A 持有锁的同时，B 也拿到了锁"},
    {"B stopped at {}", "B 停在 {}"},
    {"A failed", "A 失败了"},
    {"the replica does not find its master", "从节点找不到它的主节点"},
    {"the proxy for the commands does not answer", "转发命令的进程没有响应"},

    {"Made by holdfast {}.", "由 holdfast {} 生成。"},
    {"Played {} times, as predicted {} times.", "演示 {} 次，其中 {} 次符合预期。"},

    // Last: it matches any text that begins so.
    {"node {}", "节点 {}"},
});

}  // namespace

std::span<const translation> translations_zh() {
    static const auto all = [] {
        const auto rungs = translations_zh_rungs();
        std::vector<translation> both{rungs.begin(), rungs.end()};
        both.insert(both.end(), of_the_rest.begin(), of_the_rest.end());
        return both;
    }();
    return all;
}

}  // namespace holdfast::lab
