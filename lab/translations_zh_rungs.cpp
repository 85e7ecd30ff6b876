// The Chinese texts of the rungs.
#include "lab/translations_zh.hpp"

#include <array>

namespace holdfast::lab {

namespace {

// The terms are those of the articles. Commands, scheme names and numbers are not translated.
constexpr auto of_rungs = std::to_array<translation>({
    // Several rungs, and lab/rungs/moves.cpp.
    {"A takes the lock", "A 获取锁"},
    {"A takes the key", "A 占住 key"},
    {"A stands still, and the TTL passes", "A 停住，TTL 到期"},
    {"A has done its work and unlocks", "A 完成工作，解锁"},
    {"A goes on with its work", "A 继续工作"},
    {"B takes the lock", "B 获取锁"},
    {"B wants the lock", "B 想要获取锁"},
    {"B wants it, while A works", "A 还在工作，B 想要获取它"},
    {"The key has no TTL: B may try as often as it likes", "key 没有 TTL：B 试多少次都没用"},
    {"PTTL lock returns -1: the key stays for ever, and no living process owns it",
     "PTTL lock 返回 -1：key 永远留在那里，而活着的进程都不是它的所有者"},
    {"The TTL of the key passes", "key 的 TTL 到期"},
    {"B tries again", "B 再试一次"},
    {"C wants the lock, while B works", "B 还在工作，C 想要获取锁"},
    {"A takes the lock, sees that its lease is valid, and is about to write",
     "A 获取锁，确认租约有效，正要写入"},
    {"A stands still right there, and the TTL passes", "A 恰好停在这里，TTL 到期"},
    {"B takes the lock and writes", "B 获取锁并写入"},
    {"A goes on: it writes", "A 恢复运行：写入"},

    // bronze
    {"SETNX takes the key, DEL releases it", "SETNX 占住 key，DEL 释放"},
    {"Five schemes of a Redis lock, part 4: bronze", "Redis分布式锁五种方案：四、青铜方案"},
    {"A crashes in the middle of its work", "A 工作到一半时崩溃"},
    {"a crash leaves the key for ever", "进程崩溃，key 永远留下"},
    {"Only A's DEL frees the lock, and A is dead. The key has no TTL, so B is refused until "
     "somebody deletes the key by hand.",
     "只有 A 的 DEL 能释放锁，而 A 已经死了。key 没有 TTL，所以 B 一直被拒绝，"
     "直到有人手动删除 key。"},
    {"The key has a TTL: the server frees the lock of a dead process after that time.",
     "key 有 TTL：进程死了，到期后服务器会释放它的锁。"},
    {"One command sets the owner token and its TTL, and renewal ends with the process.",
     "所有者令牌和 TTL 由一条命令同时写入，进程一结束就不再续期。"},
    {"A takes the lock and works for hours; the director makes its key last that long",
     "A 获取锁，要工作好几个小时；调度者让它的 key 一直有效"},
    {"B waits: try, sleep, try again; its stack may grow to 256 KiB",
     "B 等待：尝试、休眠、再尝试；它的栈最多可以增长到 256 KiB"},
    {"B ran out of stack", "B 的栈空间用完了"},
    {"B still runs, and waits", "B 安然无恙，继续等待"},
    {"a waiter that calls itself again runs out of stack", "用递归调用来等待锁，会导致栈空间溢出"},
    {"Each try is a call within the call before, and none returns until the lock is free. The sleep, which "
     "the article gives as the remedy, only delays the overflow.",
     "每次重试都是在上一次调用里再调用一次，锁不空闲，就没有一层会返回。文章给出的对策是休眠，"
     "但这只是让溢出来得晚一些。"},
    {"A loop uses the same piece of stack for every try.", "用循环来重试，无论多少次都只占用同一段栈。"},
    {"The lab polls in a loop here; lock() and acquire() sleep until the lock is handed off to them.",
     "实验室在这里用循环反复询问；lock() 和 acquire() 会一直睡眠，直到锁移交给自己。"},

    // silver
    {"SETNX, then EXPIRE as a second command", "先 SETNX，再用第二条命令 EXPIRE"},
    {"Five schemes of a Redis lock, part 5: silver", "Redis分布式锁五种方案：五、白银方案"},
    {"A crashes right then", "A 恰好在这时崩溃"},
    {"a crash between SETNX and EXPIRE leaves the key for ever", "在 SETNX 和 EXPIRE 之间崩溃，key 永远留下"},
    {"Two commands are two moments, and A died between them: the key exists, and its TTL was never "
     "set.",
     "两条命令就是两个时刻，A 死在了它们之间：key 已经存在，TTL 却没有设置上。"},
    {"SET NX PX takes the key and gives it its TTL in one command; there is no moment between.",
     "SET NX PX 用一条命令占住 key 并设置 TTL，中间没有空隙。"},
    {"It uses the same single command.", "加锁用的也是这样一条命令。"},
    {"The connection of A is cut, and A goes on", "A 的连接被切断，A 继续运行"},
    {"a connection that breaks between SETNX and EXPIRE leaves the key for ever",
     "在 SETNX 和 EXPIRE 之间连接断开，key 永远留下"},
    {"A lives, but EXPIRE fails, and the exception skips the DEL too. No crash is needed; a network glitch "
     "is enough.",
     "A 还活着，但 EXPIRE 失败，抛出的异常把 DEL 也跳过了。不需要崩溃，网络抖动一下就够了。"},
    {"The key had its TTL from the first moment. DEL fails on the dead connection, and the TTL "
     "does its work.",
     "key 从一开始就有 TTL。DEL 在断开的连接上失败，由 TTL 来完成释放。"},
    {"It reconnects, renews and releases the lock; if it cannot, the TTL does.",
     "它会重新连接、续期，然后释放锁；即使做不到，还有 TTL 兜底。"},

    // gold
    {"SET NX PX with the same value for everybody, DEL", "SET NX PX，所有人用相同的值，DEL"},
    {"Five schemes of a Redis lock, part 6: gold", "Redis分布式锁五种方案：六、黄金方案"},
    {"A goes on, finishes its work and unlocks", "A 恢复运行，完成工作，解锁"},
    {"a late DEL deletes another client's lock", "迟到的 DEL 误删别人的锁"},
    {"A's key had expired, and A deletes B's: the value is the same for all. C gets the lock while B works, "
     "and B's DEL will delete C's: one late DEL causes the next.",
     "A 的 key 已经过期，A 删掉的是 B 的 key：大家的值都相同，分不出是谁的。B 还在工作，"
     "C 就进来了，接着 B 的 DEL 又会误删 C 的锁：迟到一次，就误删一次。"},
    {"A finds B's value in the key and leaves it alone, so C waits. (A and B still overlapped: A "
     "worked longer than its TTL. That is the flaw of diamond.)",
     "A 发现 key 里是 B 的值，就不去动它，所以 C 继续等待。（A 和 B 仍然有重叠："
     "A 的工作时间超过了 TTL。那是 diamond（钻石方案）的缺陷。）"},
    {"A's lease knows its deadline, so it is over before B's can begin. A's release finds another owner "
     "token and changes nothing.",
     "A 的租约知道自己的截止时间，所以在 B 的租约能够开始之前就已结束；A "
     "释放时发现所有者令牌是别人的，什么也不动。"},

    // platinum
    {"a value per owner; GET, compare, DEL", "各用自己的唯一值；GET、比较、DEL"},
    {"Five schemes of a Redis lock, part 7: platinum", "Redis分布式锁五种方案：七、铂金方案"},
    {"A takes the lock and works", "A 获取锁，开始工作"},
    {"A unlocks: it checks whether the key is its own", "A 解锁：先查看 key 是不是自己的"},
    {"A goes on where it stopped", "A 从停住的地方恢复运行"},
    {"the key is deleted on a stale answer", "根据已经过时的查询结果删除 key"},
    {"GET said that the key was A's, and it was. When the DEL arrived, it was B's: check and deletion are "
     "two commands, and the owner may change between them.",
     "GET 说 key 是 A 的，当时确实如此。DEL 到达时，key 已经是 B "
     "的了：检查和删除是两条命令，中间持有者可能改变。"},
    {"A script compares and deletes, and the server runs nothing else meanwhile.",
     "比较和删除由一个 Lua 脚本完成，期间服务器不会执行别的命令。"},
    {"Its release is such a script, and also hands the lock off to the first waiter.",
     "它的释放就是这样一个脚本，并且还会把锁移交给排在最前面的等待者。"},

    // diamond
    {"a value per owner; compare and delete in a Lua script", "各用自己的唯一值；用 Lua 脚本比较并删除"},
    {"Five schemes of a Redis lock, part 8: diamond", "Redis分布式锁五种方案：八、钻石方案"},
    {"A works, and works longer than the TTL", "A 一直工作，超过了 TTL"},
    {"B wants the lock, while A works", "A 还在工作，B 想要获取锁"},
    {"A finishes its work and unlocks", "A 完成工作后解锁"},
    {"work that takes longer than the TTL loses exclusion", "工作时间超过 TTL，就不再互斥"},
    {"The key expired while A worked, and B took it by the rules. A's release returns 0 and harms nobody: "
     "the release is right, the exclusion is gone.",
     "A 还在工作，key 就过期了，B 按规矩拿到了锁。A 释放时返回 0，没有伤到任何人：解锁是对的，"
     "互斥却没有了。"},
    {"A watchdog renews the key while its holder lives, so work may take as long as it takes.",
     "只要持有者还活着，看门狗就给 key 续期，工作要多久就可以多久。"},
    {"It renews, too, whenever a third of the lease has passed.",
     "同样会续期：每过三分之一的租约时间续一次。"},
    {"A calls a function that takes the same lock", "A 调用的函数又要获取同一把锁"},
    {"A waits for itself until the TTL passes", "A 等待 A 自己，直到 TTL 到期"},
    {"Nobody has the lock now, and A is still at work", "现在没有人持有锁，而 A 还在工作"},
    {"a holder that takes the lock again waits for itself", "持有者再次加锁，等的是自己"},
    {"SET NX refuses every caller, the holder too. A waits for its own lock until the TTL frees it, and from "
     "then on its outer work has no protection.",
     "SET NX 拒绝所有来要锁的人，包括持有者自己。A 等待自己的锁，直到 TTL 把它释放，而从那时起，"
     "A 外层的工作就没有了保护。"},
    {"The value names the owner and counts its holds, so the owner may lock again.",
     "值里记录了谁持有锁、重入了几次，所以持有者可以再次进入。"},
    {"recursive_mutex counts. A plain mutex refuses the self-wait at once: errc::would_deadlock.",
     "recursive_mutex 会计数。普通的 mutex 拒绝等待自己：立即报 errc::would_deadlock。"},

    // counter
    {"re-entrant: the value is owner:count, command by command",
     "可重入：值是 owner:count（持有者:重入次数），逐条命令执行"},
    {"A practical guide to Redis locks: the reentrant lock", "Redis分布式锁实战指南：可重入锁的实现原理"},
    {"A takes it again: it checks whether it is the owner", "A 再次获取锁：先查看自己是不是持有者"},
    {"A goes on where it stopped, and unlocks twice", "A 从停住的地方恢复运行，解锁两次"},
    {"a count is written over another client's lock", "重入计数覆盖了别人的锁"},
    {"GET said that A was the owner; when A wrote its new count, the key was B's. SET XX checks that the key "
     "exists, not whose it is. A then released the stolen lock, and C got it while B worked.",
     "GET 说 A 是持有者；等 A 写入新的计数时，key 已经是 B 的了。SET XX 只问 key 是否存在，"
     "不问它是谁的。A 随后解开了这把抢来的锁，C 就进来了，和 B 同时工作。"},
    {"Each operation is one script. A's unlocks find B's name and do nothing.",
     "每个操作都是一个脚本。A 解锁时看到的是 B 的名字，什么也不做。"},
    {"It uses scripts, too, and A's lease had ended before B's could begin.",
     "同样使用脚本；而且 A 的租约在 B 的租约能够开始之前就已结束。"},
    {"A takes the lock, on its thread number 1", "A 在自己的 1 号线程上获取锁"},
    {"B, another process, wants it on its own thread number 1",
     "B 是另一个进程，想在自己的 1 号线程上获取它"},
    {"two processes are the same owner", "两个进程成了同一个持有者"},
    {"The article names the owner by its thread's number, and every process has a thread number 1. "
     "B is taken for A and let in as if it were a nested call. `synchronized` protects only within "
     "one process.",
     "文章用线程 ID 标识持有者，而每个进程都有 1 号线程。B 被当成了 A，像重入一样被放了进来。"
     "`synchronized` 只能保护同一个进程之内。"},
    {"The owner is a UUID of the process and the thread's number.", "持有者标识是进程的 UUID 加线程 ID。"},
    {"The owner is a UUID of the client and a new number for each acquisition.",
     "持有者标识是客户端的 UUID，加上每次加锁时的新编号。"},

    // counter_lua
    {"re-entrant: the value is owner:count, in Lua scripts",
     "可重入：值是 owner:count（持有者:重入次数），用 Lua 脚本执行"},
    {"A practical guide to Redis locks: optimised with Lua", "Redis分布式锁实战指南：Lua脚本优化"},
    {"A takes the lock; it calls itself 10.0.0.7:41, its address and its thread",
     "A 获取锁；它的标识是 10.0.0.7:41，即地址加线程"},
    {"an owner with a colon in its name cannot unlock", "持有者标识里有冒号，就无法解锁"},
    {"The value is 10.0.0.7:41:1, and the script takes the part before the first colon as the owner. Nobody "
     "has that name: A can neither relock nor release, and gets no error.",
     "值是 10.0.0.7:41:1，而脚本把第一个冒号之前的部分当作持有者。没有人叫这个名字：A "
     "既不能重入，也不能释放，而且得不到任何错误。"},
    {"Owner and count are a field and its value in a hash, so no text is parsed.",
     "持有者和重入次数是 Hash 里的 field 和 value，不需要从文本里截取。"},
    {"The same hash.", "同样的 Hash。"},
    {"A takes the lock, and takes it again", "A 获取锁，然后再次获取"},
    {"An administrator withdraws the right to EXPIRE, and A releases one of its two holds",
     "管理员收回 EXPIRE 的权限，A 释放一层重入"},
    {"The administrator sees the mistake, and restores the right", "管理员发现弄错了，恢复了权限"},
    {"a script that fails between SET and EXPIRE leaves the key for ever",
     "脚本在 SET 和 EXPIRE 之间失败，key 永远留下"},
    {"SET removes the TTL, and EXPIRE should restore it. A script runs alone, but it rolls nothing back: "
     "commands before the failed one keep their effect.",
     "SET 会清除 TTL，要靠 EXPIRE 补上。脚本执行时没有别人插入，但它不会回滚："
     "失败的命令之前做过的事不会撤销。"},
    {"HINCRBY changes the count and leaves the TTL alone. The script fails here as well, and the key still "
     "expires.",
     "HINCRBY 只改计数，不动 TTL。脚本同样会失败，但 key 仍会过期。"},
    {"No script removes a TTL. If a renewal is refused, the lease ends on time and its holder is notified.",
     "没有哪个脚本会清除 TTL；如果续期被拒绝，租约会到点结束，并且会通知持有者。"},

    // redisson
    {"a hash of owner and count, a unique owner, a watchdog",
     "用 Hash 记录持有者和重入次数，持有者标识唯一，有看门狗"},
    {"Distributed locks in Redis: Redisson, the reentrant lock and the watchdog",
     "Redis中的分布式锁：Redisson可重入锁原理，看门狗机制"},
    {"The whole process A stands still, its watchdog too, and the TTL passes",
     "整个进程 A 都停住了，看门狗也不例外，TTL 到期"},
    {"a holder that stood still longer than the TTL writes beside the next holder",
     "停住的时间超过 TTL，醒来后和下一个持有者同时写入"},
    {"The watchdog is a thread of the process that stands still. A wakes up unaware of the pause, still "
     "believes it holds the lock, and writes.",
     "看门狗是这个停住的进程里的一个线程。A 醒来后毫不知情：仍然自认为持有锁，于是写入。"},
    {"A lease is a deadline, not a flag: valid() compares it with the clock, so A knows at once. It does not "
     "write.",
     "租约是截止时间，不是标志位：valid() 用它和时钟比较，所以 A 立刻就知道了。它不会写入。"},
    {"A takes the lock; the server grants it, and its reply gets lost on the way",
     "A 获取锁；服务器授予了锁，但应答在途中丢失"},
    {"a lost reply makes the lock count twice: one unlock is not enough",
     "应答丢失，加锁被算了两次，解锁一次不够"},
    {"The script had run when the connection broke. A sent it again, and it counted as a nested call. One "
     "unlock is not enough, and B waits. (Redisson does so before 3.37, and still with replicas or a "
     "cluster.)",
     "连接断开时，脚本已经执行过了。A 重发了一次，被算作一次重入。只解锁一次不够，B 只能等待。（3.37 之前的 "
     "Redisson 如此，有从节点或集群时至今如此。）"},
    {"Each acquisition has its own name. The script recognizes a repeat and does not count it.",
     "每次加锁都有自己的名字。脚本会认出重发的请求，不会重复计数。"},
    {"B wants it, is refused, and waits for a message", "B 想要获取它，被拒绝，等待解锁消息"},
    {"B stands still for a moment, and the connection of its subscription breaks",
     "B 停顿片刻，它用来订阅消息的连接断开"},
    {"A unlocks, and notifies all subscribers", "A 解锁，并通知所有订阅者"},
    {"B goes on, and gets the lock", "B 继续运行，并拿到锁"},
    {"a waiter that misses the message sleeps on although the lock is free",
     "错过解锁消息，锁已空闲却还在睡"},
    {"A message reaches only the clients subscribed at that moment. B was not, and sleeps for the remaining "
     "TTL that its refusal returned: up to 30 seconds by Redisson's default.",
     "消息只发给当时正在订阅的客户端，别人收不到。B 当时没有订阅，只能睡到被拒绝时返回的剩余 TTL 结束：按 "
     "Redisson 的默认值，最长 30 秒。"},
    {"A client that reconnects asks again at once, and a waiter asks now and then even without a message.",
     "一旦重新连接，就立刻再问一次；平时没有消息，也会隔一阵问一次。"},
    {"A takes the lock and does its work", "A 获取锁，完成工作"},
    {"The server's memory is full (maxmemory), and A unlocks", "服务器内存已满（maxmemory），A 解锁"},
    {"There is room again, and B wants the lock", "内存又有了空间，B 想要获取锁"},
    {"a server without memory refuses the unlock", "服务器内存不足，拒绝解锁"},
    {"HINCRBY may need memory, so a server that has none left refuses the script: the lock stays "
     "until its TTL, when locks are needed most.",
     "HINCRBY 可能需要内存，所以内存耗尽的服务器会拒绝这个脚本：锁要留到 TTL 到期，"
     "偏偏在最需要锁的时候。"},
    {"DEL never needs memory.", "DEL 从不需要内存。"},
    {"No command of its release needs memory.", "它释放时用到的命令都不需要内存。"},

    // replica
    {"a master with an asynchronous replica, and a failover", "主节点加异步复制的从节点，发生主从切换"},
    {"Distributed locks in Redis: the problem of master and replica", "Redis中的分布式锁：主从问题"},
    {"What the master writes does not reach the replica for a moment",
     "主节点写入的数据，暂时没有同步到从节点"},
    {"A takes the lock: the master says yes", "A 获取锁：主节点同意"},
    {"The master dies, and the replica takes its place", "主节点宕机，从节点顶替它"},
    {"B takes the lock at the new master, and writes", "B 在新主节点上获取锁并写入"},
    {"a lock that never reached the replica is granted twice", "从节点没有同步到的锁，被授予两次"},
    {"The master replies before it has replicated. What was not replicated died with it, and the new master "
     "grants B a lock that A holds. (WAIT, which Redisson sends along, counts the replicas that have it; it "
     "undoes nothing.)",
     "主节点先应答，后同步从节点。没来得及同步的数据随它一起消失，"
     "新主节点就把 A 持有的锁又给了 B。（Redisson 附带的 WAIT 只问有多少从节点已收到，不会撤销什么。）"},
    {"A has the lock at two other masters as well, which did not fail. B gets one of three, releases it, and "
     "waits.",
     "A 在另外两个主节点上也持有锁，它们没有宕机。B 只拿到三个中的一个，把它释放，继续等待。"},
    {"With .replicas a grant counts when a replica has confirmed it. None did, so A gets not_replicated and "
     "the grant is undone. B gets no lock either while the new master has no replica: safe, but not "
     "available.",
     "使用 .replicas 时，从节点确认之后，授予才算数。没有从节点确认，A 得到 "
     "not_replicated，授予被撤销。只要新主节点还没有从节点，B 也拿不到：安全，但不可用。"},
    {"after a failover the old holder writes on top of the new one",
     "主从切换后，旧持有者覆盖新持有者的写入"},
    {"Both hold the lock, and neither can know of the other. They write as if there were no lock.",
     "双方都持有锁，谁也无从知道对方的存在。这样写入，和没有锁一样。"},
    {"A and B both hold it for the rest of A's lease: no lock on one master can prevent that. But fences "
     "come from the clock and grow across the failover, so the resource refuses A's write.",
     "在 A 的租约剩余时间里，A 和 B 同时持有锁：只靠一个主节点，任何锁都无能为力。"
     "但 fencing token 取自时钟，主从切换后继续递增，所以资源会拒绝 A 的写入。"},

    // multilock
    {"several masters, and all of them must grant it", "多个主节点，必须全部加锁成功"},
    {"Distributed locks in Redis: MultiLock", "Redis中的分布式锁：MultiLock 联锁方案"},
    {"One of three servers dies", "三台服务器中有一台宕机"},
    {"A wants the lock, which nobody holds", "A 想要获取锁，此时没有人持有它"},
    {"one dead server of several prevents every lock", "多台服务器宕机一台，谁也拿不到锁"},
    {"All servers must grant the lock, so each of them alone can prevent it: three servers fail more often "
     "than one.",
     "必须所有服务器都加锁成功，所以任何一台都能单独造成失败：三台比一台更容易出故障。"},
    {"Two of three are enough. Two holders cannot have two of three each.",
     "三台中有两台就够了。不可能有两个持有者各占三台中的两台。"},
    {"A redlock needs a majority of its servers, too. A multi_lock would need all three: it is for several "
     "locks that belong together, not for one lock on several servers.",
     "这里的 redlock 同样只需多数服务器。multi_lock 也需要全部三台：它用于需要一起获取的多把锁，"
     "而不是放在多台服务器上的一把锁。"},

    // redlock
    {"five masters, and more than half must grant it in time",
     "五个主节点，必须在规定时间内有半数以上加锁成功"},
    {"Distributed locks in Redis: how Redlock works", "Redis中的分布式锁：Redlock 算法的具体过程"},
    {"A cannot reach nodes 4 and 5, and takes the lock at 1, 2 and 3",
     "A 连不上节点 4 和 5，在节点 1、2、3 上获取锁"},
    {"Node 3 dies, and comes back without its data", "节点 3 宕机，重启后数据丢失"},
    {"a node that forgets its vote votes twice", "节点忘记自己投过票，又投了一次"},
    {"Node 3 voted for A, lost its memory, and voted for B: 1, 2, 3 and 3, 4, 5 are two majorities. Redis "
     "keeps nothing over a crash unless configured to, and with appendfsync everysec it may lose the last "
     "second.",
     "节点 3 投给 A，失去记忆，又投给 B：1、2、3 和 3、4、5 成了两个多数派。Redis 默认在崩溃后什么也留不下；"
     "即使 appendfsync everysec，也可能丢失最后一秒。"},
    {"A node that comes back empty has lost its member mark. It has no vote until an administrator marks it "
     "again, after every lock that it forgot has expired. B waits.",
     "重启后没有数据的节点，也就失去了成员标记。管理员要等它忘掉的锁全部过期，"
     "才重新给它标记，在此之前它没有投票权。B 继续等待。"},
    {"A server's run id and uptime show that it restarted. It has no vote until the longest lease that it "
     "may have forgotten is over, and nobody needs to mark it. B waits.",
     "服务器的 run id 和运行时间表明它刚刚重启。在它可能忘掉的最长租约结束之前，它没有投票权，"
     "也不需要谁去标记。B 继续等待。"},
    {"A takes the lock at nodes 1, 2 and 3, checks the time, and is about to write",
     "A 在节点 1、2、3 上获取锁，检查了时间，正要写入"},
    {"The clock of node 3 is set right: it was a minute behind", "节点 3 的时钟被校准：它原来慢了一分钟"},
    {"A writes", "A 写入"},
    {"a node whose clock jumps frees the lock early, and two write",
     "节点的时钟跳变，过早放掉锁，两个客户端同时写入"},
    {"Redis counts a TTL by the wall clock. For node 3 a minute had passed, and it voted for B. A could not "
     "know, and its write replaced B's.",
     "Redis 按墙上时钟计算 TTL。对节点 3 来说已经过了一分钟，于是它投票给 B。A 无从知道，它的写入覆盖了 B "
     "的。"},
    {"Both still hold the lock. But B's fence is greater, because a majority knew A's, and the resource "
     "refuses A's write.",
     "双方仍然都持有锁。但多数节点已经得知 A 的 fencing token，所以 B 的更大，资源拒绝 A 的写入。"},
    {"The lock is granted twice here too. A's fence was written to a majority before A had the lock, so B's "
     "is greater, and the resource refuses A's write.",
     "锁在这里同样被授予两次。A 拿到锁之前，它的 fencing token 已经写入多数节点，所以 B 的更大，"
     "资源拒绝 A 的写入。"},
    {"A has the replies of all nodes, and has not checked the clock yet",
     "A 收到了所有节点的应答，还没有看时钟"},
    {"A goes on", "A 恢复运行"},
    {"a client that does not check the clock after the replies trusts old ones",
     "询问之后不看时钟，就会相信过时的应答"},
    {"The replies had been true. A read them after the TTL had passed everywhere, and B had the lock by "
     "then.",
     "这些应答曾经是对的。等 A 读到它们时，所有节点上的 TTL 都已到期，锁已经到了 B 手里。"},
    {"Step 3: A compares the time since it began with the TTL, sees that nothing is left, and releases what "
     "it was granted.",
     "第 3 步：A 用开始以来的耗时和 TTL 比较，发现已经没有剩余时间，就释放已获取的锁。"},
    {"A lease counts from before its first request was sent. A's had ended when A woke.",
     "租约从第一个请求发出之前开始计时。A 醒来时，它的租约已经结束。"},
    {"a client that stands still after checking the clock writes too late", "看过时钟之后停住，写入就太迟了"},
    {"Step 3 only sees what came before it. A checked in time, stood still, and wrote; five nodes help no "
     "more here than one.",
     "第 3 步只能看到它之前的情况。A 及时看了时钟，随后停住，再写入；对此，五个节点并不比一个强。"},
    {"The resource has seen B's greater fence, and refuses A's write.",
     "资源已经见过 B 的更大的 fencing token，所以拒绝 A 的写入。"},
    {"The same: valid() cannot see what happens after it; the fence can.",
     "同样如此：valid() 看不到它之后发生的事，fencing token 可以。"},

    // fallback
    {"degradation: without Redis, use a substitute", "降级：Redis 不可用时，用别的来代替"},
    {"A practical guide to Redis locks: degradation", "Redis分布式锁实战指南：分布式锁的降级策略"},
    {"Nobody can reach Redis. An operator moves the lock to the substitute",
     "谁也连不上 Redis。运维人员把锁切换到备用存储"},
    {"A wants the lock", "A 想要获取锁"},
    {"B, another process, wants it too", "B 是另一个进程，也想要获取它"},
    {"a local lock keeps out other threads, but no other process",
     "本地锁只能挡住本进程的其他线程，挡不住别的进程"},
    {"Each process has its own lock and gets it. The article says so: use it only for work that something "
     "else protects as well, or that may be done twice.",
     "每个进程都有自己的本地锁，都能拿到。文章也说明了这一点：本地锁只适用于底层有其他机制兜底、"
     "或者可以重复执行的业务。"},
    {"Both use the same table, and the row is A's. B waits.",
     "双方都改用同一张表，而那一行是 A 的。B 继续等待。"},
    {"Without Redis nobody gets the lock: acquire() throws, and never grants on a guess.",
     "Redis 不可用时，谁也拿不到锁：acquire() 抛出异常，绝不会在不确定的时候说拿到了。"},
    {"All clients have moved to the database before one of them may take a lock there. It is A's, and B "
     "waits.",
     "所有客户端都切换到数据库之后，才有客户端可以在那里获取锁。锁归 A，B 继续等待。"},
    {"A takes the lock, from Redis", "A 从 Redis 获取锁"},
    {"An operator moves the lock to the substitute, while A works", "A 还在工作，运维人员把锁切换到备用存储"},
    {"B cannot reach Redis, and wants the lock", "B 连不上 Redis，想要获取锁"},
    {"one process uses Redis, the other the substitute, and both get the lock",
     "一个进程用 Redis，另一个用降级方案，双方都拿到了锁"},
    {"Each of the two stores is right, and nobody compares them. B cannot reach Redis, so it does not know "
     "what is held there.",
     "两个存储各自都没有错，但没有人去比对它们。B 连不上 Redis，所以不知道那里的锁被谁持有。"},
    {"B gets an error and not the lock. No lock can promise to be available with either store and exclusive "
     "with both.",
     "B 得到的是错误，不是锁。只要有一个存储就可用，又要在两个存储之间保持互斥，没有哪种锁能做到。"},
    {"For a time each lock needed both stores. So A has taken its lock in the database, too, before B may "
     "ask "
     "there, and has held it throughout.",
     "切换期间，每把锁都需要同时在两个存储中持有。所以在 B 可以去数据库获取之前，A 已经在那里也拿到了锁，"
     "并且自始至终持有它。"},
    {"B reaches Redis, too, and wants the lock", "B 也连得上 Redis，想要获取锁"},
    {"a lock that another process holds is taken for a Redis that is down",
     "锁被别的进程持有，却被当成 Redis 宕机"},
    {"The code leaves its loop after a refusal as after an exception, and goes on to the local lock. Redis "
     "is "
     "well, and every contended acquisition has two holders.",
     "无论是被拒绝还是抛出异常，代码都会跳出循环，接着去拿本地锁。Redis 完全正常，而只要发生竞争，"
     "就会有两个持有者。"},
    {"Only an exception leads to the local lock. A refusal is an answer, and B waits.",
     "只有抛出异常才会降级为本地锁。被拒绝是明确的应答，B 继续等待。"},
    {"An answer is granted, busy, refused or unknown, and none of them moves the lock to another store. B "
     "waits.",
     "应答分为授予、被占用、拒绝和未知四种，哪一种都不会让锁换到另一个存储。B 继续等待。"},
    {"A looks which store the lock is in: Redis", "A 查看锁现在在哪个存储：Redis"},
    {"A stands still right there, and an operator moves the lock to the substitute",
     "A 恰好停在这里，运维人员把锁切换到备用存储"},
    {"B takes the lock, from the substitute", "B 从备用存储获取锁"},
    {"A goes on, and wants the lock", "A 恢复运行，想要获取锁"},
    {"a process acts on a flag that has changed since it looked", "进程按已经过时的开关行事"},
    {"The flag was true when A read it. Nothing says until when an answer may be used, so A takes the lock "
     "in "
     "Redis beside B's in the table.",
     "A 读到开关时，它确实是 true。但没有什么规定这个结果能用到什么时候，于是 A 在 Redis 里拿到锁，"
     "同时 B 在表里也持有锁。"},
    {"What A knew was good for its mode lease, and the change lasted longer than that. A asks the arbiter "
     "again, finds B in the database, and waits.",
     "A 所知道的模式只在模式租约之内有效，而切换持续的时间比它更长。A 重新询问仲裁者，"
     "在数据库里看到 B 持有锁，就继续等待。"},
    {"A is cut off from the switch, and an operator moves the lock to the substitute",
     "A 与开关失去联系，运维人员把锁切换到备用存储"},
    {"a process that the switch does not reach stays where it was", "开关通知不到的进程，仍然留在原来的存储"},
    {"A push reaches each process at its own moment, and A never. It works under its lock in Redis, B under "
     "one in the table.",
     "推送到达每个进程的时刻各不相同，而 A 始终没有收到。A 凭 Redis 里的锁工作，B 凭表里的锁工作。"},
    {"A cannot ask the arbiter any more, so its mode lease ends, and its lock with it. The change lasted "
     "longer than that, and A knew before B was in.",
     "A 再也问不到仲裁者，它的模式租约随之结束，锁也一起结束。切换持续的时间比模式租约更长，"
     "所以在 B 拿到锁之前，A 就已经知道了。"},

    // table
    {"a row in the table distributed_lock, taken by an upsert",
     "distributed_lock 表里的一行，用 upsert 抢占"},
    {"A practical guide to Redis locks: degradation to other distributed locks (database)",
     "Redis分布式锁实战指南：降级为其他分布式锁（数据库锁）"},
    {"A takes the row", "A 抢占这一行"},
    {"every client sees that a row was written", "每个客户端看到的都是写入了一行"},
    {"The upsert leaves the row as it is, and still counts it: SQLite does so, and MySQL for Java "
     "programs unless useAffectedRows is set. rows > 0 is true for all.",
     "upsert 没有改动这一行，却仍然把它计入行数：SQLite 如此，Java 程序使用 MySQL 时也如此，"
     "除非设置了 useAffectedRows。于是 rows > 0 对谁都成立。"},
    {"B checks whose row it is, finds A, and waits.", "B 再查这一行是谁的，发现是 A 的，就继续等待。"},
    {"Not a table: the server's answer names the holder or grants the lock.",
     "不用表：服务器的应答要么指出持有者是谁，要么授予锁。"},
    {"The clock of A's machine is a minute behind. A takes the row", "A 的机器时钟慢了一分钟。A 抢占这一行"},
    {"a client whose clock is behind takes a lock that has already expired",
     "客户端时钟偏慢，拿到的锁一开始就已过期"},
    {"A wrote the expiry by its own clock, and the database compared it with another. For the database, A's "
     "lock had ended before it began.",
     "A 按自己的时钟写下过期时间，数据库却用另一个时钟来比较。在数据库看来，"
     "A 的锁还没开始就已经结束。"},
    {"The client sets the duration, and only the database sets the end.",
     "客户端只说持续多久，到期时刻由数据库决定。"},
    {"It sends a duration, too, and measures its own lease by a clock that nobody sets.",
     "它发送的也是时长，并且用一个没有人能调整的时钟来计量自己的租约。"},

    // holdfast
    {"leases that know their end; a fence for what no lock can see",
     "租约知道自己何时结束；锁看不到的，交给 fencing token"},
    {"this project", "本项目"},
    {"a write that was checked in time arrives too late", "检查时还有效，写入却到得太迟"},
    {"No two leases were valid at once, and still A's write replaces B's: no lock can see what happens "
     "between its check and the write. This is true of every lock, ours too.",
     "没有两个租约同时有效，A 的写入却仍然覆盖了 B 的：在检查和写入之间发生了什么，锁是看不到的。"
     "任何锁都是如此，我们的也不例外。"},
    {"The fence grows with every grant, and the resource remembers the highest. It refuses A's "
     "write.",
     "fencing token 随每次授予递增，资源记住见过的最大值。它拒绝 A 的写入。"},
});

}  // namespace

std::span<const translation> translations_zh_rungs() { return of_rungs; }

}  // namespace holdfast::lab
