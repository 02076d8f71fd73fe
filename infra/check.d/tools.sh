# Sourced by the checks, from the workspace's root: the Python packages that they use, and what they
# share. Each set of packages has an environment of its own under target/tools, which is made again
# when a pin changes.

# The template: SAM CLI, its transform, the linter. pyelftools reads what was built.
readonly SAM=(aws-sam-cli==1.170.0 aws-sam-translator==1.115.0 cfn-lint==1.58.0 pyelftools==0.33)
# What builds for Lambda. Zig links it, for any architecture and for an old enough glibc.
readonly CARGO_LAMBDA=(cargo-lambda==1.9.2 ziglang==0.17.1)
# AWS on this machine, and a client for it. It transforms the template with the translator, which it
# does not bring.
readonly MINISTACK=(ministack==1.5.33 aws-sam-translator==1.115.0 boto3==1.43.106)
# The command line that RUNBOOK.md uses.
readonly AWSCLI=(awscli==1.46.3)

export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 PYTHONDONTWRITEBYTECODE=1
# Nothing here may find an account.
export AWS_EC2_METADATA_DISABLED=true AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_CONFIG_FILE=/dev/null
unset AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ENDPOINT_URL

step() {
    printf '\n[%4d s] -- %s\n' "$SECONDS" "$1"
}

# tools NAME PIN...: makes sure that target/tools/NAME holds exactly these.
tools() {
    local name=$1 folder=target/tools/$1 pins
    shift
    pins=$*
    if [[ -f $folder/pins && $(<"$folder/pins") == "$pins" ]]; then
        echo "$name is there: $pins"
        return
    fi
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
    printf '%s' "$pins" >"$folder/pins"
    echo "$name: $pins"
}

# This machine's architecture, as the template calls it.
this_architecture() {
    case $(uname -m) in
    x86_64) echo x86_64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) echo "Lambda has no functions for $(uname -m)" >&2 && return 1 ;;
    esac
}

# build COMMAND...: what takes minutes. A signal ends it with all that it has started.
build() {
    local pid status=0
    PATH=$PWD/target/tools/cargo-lambda/bin:$PATH timeout 3600 "$@" &
    pid=$!
    trap 'kill "$pid"; wait "$pid"; exit 130' INT TERM
    wait "$pid" || status=$?
    trap - INT TERM
    return "$status"
}

# sam_build ARCHITECTURE: into target/sam-build/ARCHITECTURE.
sam_build() {
    local log=target/sam-build/$1.log
    mkdir -p target/sam-build
    if ! build target/tools/sam/bin/sam build --build-dir "target/sam-build/$1" \
        --parameter-overrides "Architecture=$1" >"$log" 2>&1; then
        cat "$log" >&2
        return 1
    fi
    echo "target/sam-build/$1"
}
