// Carries what a process and its server say to each other, and can lose an answer on the way.
#pragma once

namespace holdfast::lab {

// The process that does it. Three lines on standard input: the socket to listen on, the one of the server,
// the key. Then "lose": the next command with this key gets to the server, and its answer does not come back;
// the connection breaks. (A refusal does come back: a script that the server did not know has done nothing.)
// A line tells that the carrier is ready, that it has the order, and that an answer got lost.
int carry();

}  // namespace holdfast::lab
