#!/bin/bash
# Runs under the systemd of boot_systemd.sh: starts, reloads, backs up and stops, and prints what came of it.
answer() {
    for _ in $(seq 120); do
        curl --fail --silent --max-time 2 http://127.0.0.1:8080/readyz >/dev/null && break
        sleep 0.5
    done
    curl --silent --output /dev/null --write-out "$1 %{http_code}\n" http://127.0.0.1:8080/readyz
}

systemd-sysusers
systemd-tmpfiles --create headwater.conf
systemctl daemon-reload
systemctl start headwater.service && answer started
pid=$(systemctl show --value --property MainPID headwater.service)
grep -E '^(CapEff|NoNewPrivs|Seccomp):' "/proc/$pid/status"
echo "account $(stat --format %U "/proc/$pid")"
systemctl start headwater-backup.service && echo "backup $(ls /var/backups/headwater | grep -c zip)"
until test -e /var/backups/headwater/erasures.journal || ((++waited > 60)); do sleep 1; done
echo "journal $(stat --format %U /var/backups/headwater/erasures.journal)"
systemctl reload headwater.service && answer reloaded
systemctl stop headwater.service
systemctl show --property Result --property NRestarts headwater.service
journalctl --no-pager --output cat --unit headwater.service --unit headwater-backup.service
echo "the end"
