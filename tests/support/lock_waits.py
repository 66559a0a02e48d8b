"""Detection of lock waits from another session. A cluster locks rows on its nodes, and the first node knows
their sessions only through Citus.
"""

from __future__ import annotations

import psycopg

from headwater.database.cluster.presence import is_cluster

OF_SERVER = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
OF_NODES = (
    "SELECT count(*) FROM citus_lock_waits w WHERE citus_pid_for_gpid(w.blocking_gpid) = %s"
    " AND citus_nodeid_for_gpid(w.blocking_gpid) = citus_coordinator_nodeid()"
)


def is_waited_for(connection: psycopg.Connection, holder: psycopg.Connection) -> bool:
    """Return whether any session waits for a lock of `holder`'s session."""
    looks = (OF_SERVER, OF_NODES) if is_cluster(connection) else (OF_SERVER,)
    pid = holder.info.backend_pid
    return any(connection.execute(look, (pid,)).fetchone() != (0,) for look in looks)
