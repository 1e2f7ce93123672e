package move

// Help describes the command.
const Help = `Copies the whole log to where --to says, reads it back and verifies its hash chain, then sets cluster.log in openclaw.json. The log that is left
stays as it is; nodes cannot write to it any more. --to file ends the sharing: the database of this node, brought to the end of the shared log,
is the log again; with --from file, as it is, when the shared log is lost.

  nats://[USER:PASSWORD@]HOST[:4222][,HOST...]/STREAM[?replicas=3]   a stream that does not exist yet is created; tls:// likewise
  postgres://[USER:PASSWORD@]HOST[,HOST...]/DATABASE[?schema=NAME]   likewise the schema, openclawd if none is named

Stop the servers of all nodes first. A move that was interrupted, kill -9 included, is continued by the same command. A target that has another
log, or more events, is refused. Other nodes only need the new cluster.log: what they have stays valid.

Exit codes: 0 done; 1 failed; 75 a server has the database; 78 invalid URL.`
