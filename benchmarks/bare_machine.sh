#!/usr/bin/env bash
# The README's first command on a bare machine: a minimal Debian 12 in a folder, no OpenGL package, not root.
#
#   benchmarks/bare_machine.sh FOLDER            (as root; needs debootstrap; a second call reuses FOLDER)
#
# Installs the last commit of this clone. Debian's mirror is MIRROR (default: debootstrap's own). pip is set up as in
# this shell: variables PIP_* are handed on, and CA_BUNDLE (a file) becomes the bare machine's certificates.
set -euo pipefail
root=$(realpath -m "${1:?name a folder for the bare machine}")
clone=$(realpath "$(dirname "$0")/..")
user=evaluator

if [ ! -e "$root/etc/debian_version" ]; then
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root" ${MIRROR:+"$MIRROR"}
    chroot "$root" useradd --create-home "$user"
fi
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
if [ -n "${CA_BUNDLE:-}" ]; then
    cp "$CA_BUNDLE" "$root/etc/ssl/certs/ca-certificates.crt"
fi
if find "$root"/usr/lib "$root"/lib -name 'libGL*' -o -name 'libEGL*' -o -name 'libOSMesa*' | grep .; then
    echo "the bare machine has OpenGL libraries; start from an empty folder" >&2
    exit 1
fi

home="$root/home/$user"
rm -rf "$home/rbench"
git clone --quiet --no-hardlinks "$clone" "$home/rbench"
rm -rf "$home/rbench/.git"
cat > "$home/session.sh" <<'SESSION'
set -euo pipefail
cd ~/rbench
id -un
rm -rf ~/venv
python3 -m venv ~/venv
. ~/venv/bin/activate
first=$(python3 .ci/readme_command.py run)
printf '%s\n' "$first"
SECONDS=0
eval "$first"
echo "first command: $SECONDS s"
rbench doctor
rbench render roboview-bias color/teal/position-p2 -o ~/picture.png
SESSION

environment=(HOME="/home/$user" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8)
while IFS= read -r -d '' variable; do
    environment+=("$variable")
done < <(env -0 | grep -z '^PIP_' || true)
chroot "$root" chown -R "$user:$user" "/home/$user"
# A mount namespace of its own, so that nothing stays mounted.
unshare --mount bash -c '
    set -e
    mount -t proc proc "$1/proc"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
    mount -t tmpfs tmpfs "$1/dev/shm"
    root=$1 user=$2
    shift 2
    exec chroot --userspec="$user:$user" "$root" env -i --chdir="/home/$user" "$@" bash session.sh
' bare "$root" "$user" "${environment[@]}"
echo "picture: $home/picture.png"
