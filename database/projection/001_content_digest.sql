-- Digest of what a reader can see of one revision. The same function exists in the source
-- database, so that equal content has an equal digest and ETag on both sides without trusting a copy.
-- Each field is prefixed with its length in bytes, so that no two field lists collide.
-- Declared IMMUTABLE: convert_to is only STABLE in general, but the database encoding is UTF8 for good.
CREATE FUNCTION content_digest(title text, url text, type text, body text, visibility text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT encode(sha256(convert_to(
    octet_length(title) || ':' || title
    || coalesce(octet_length(url) || ':' || url, '-')
    || octet_length(type) || ':' || type
    || octet_length(body) || ':' || body
    || octet_length(visibility) || ':' || visibility, 'UTF8')), 'hex')
$$;
