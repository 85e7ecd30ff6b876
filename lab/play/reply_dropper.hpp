// A proxy between a process and its server that can lose a reply.
#pragma once

namespace holdfast::lab {

// Runs the proxy. It reads three lines from standard input: the socket to listen on, the socket of the
// server, the key. After "lose", the next command with this key reaches the server, its reply is dropped, and
// the connection breaks. (An error reply is not dropped: a script that the server did not know has done
// nothing.) It prints a line when it is ready, when it has the order, and when a reply was lost.
int drop_replies();

}  // namespace holdfast::lab
