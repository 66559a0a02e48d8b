#!/bin/bash
# A machine with systemd for a moment: in namespaces of its own, on this machine's files, changes to which are
# kept in memory. Installs the units as docs/install.md does, and has systemd run try_units.sh.
#   boot_systemd.sh FOLDER PROGRAMS UNITS: what is printed goes to FOLDER/printed; PROGRAMS is what becomes
#   /opt/headwater, UNITS the folder of units
set -euo pipefail
umask 022
folder=$1 programs=$2 units=$3 root=$1/root
mount --make-rprivate /
mkdir "$folder/memory"
mount -t tmpfs tmpfs "$folder/memory"
mkdir "$folder/memory/changed" "$folder/memory/work" "$root"
mount -t overlay overlay "$root" \
    -o "lowerdir=/,upperdir=$folder/memory/changed,workdir=$folder/memory/work"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" -o ro
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount --bind "$folder" "$root/mnt"

rm -rf "$root"/etc/systemd/system/*
install -m 644 "$units/headwater.sysusers" "$root/usr/lib/sysusers.d/headwater.conf"
install -m 644 "$units/headwater.tmpfiles" "$root/usr/lib/tmpfiles.d/headwater.conf"
install -m 644 "$units"/*.service "$units"/*.timer "$root/etc/systemd/system/"
mkdir -p "$root/opt/headwater"
cp -a "$programs/." "$root/opt/headwater/"
install -m 755 "$(dirname "$0")/try_units.sh" "$root/opt/try_units.sh"
cat >"$root/etc/systemd/system/try.service" <<UNIT
[Unit]
After=basic.target
Wants=basic.target
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/opt/try_units.sh
StandardOutput=append:/mnt/printed
StandardError=append:/mnt/printed
UNIT
mount -t tmpfs tmpfs "$root/tmp" -o mode=1777
mkdir "$root/old"
cd "$root"
pivot_root . old
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /bin/bash -c 'umount -l /old; exec /lib/systemd/systemd --unit=try.service'
